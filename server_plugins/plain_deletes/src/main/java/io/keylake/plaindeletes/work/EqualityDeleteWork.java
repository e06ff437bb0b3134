package io.keylake.plaindeletes.work;

import io.keylake.plaindeletes.conversion.Conversion;
import io.keylake.plaindeletes.conversion.Converted;
import io.keylake.spark.engine.CountedMemory;
import io.keylake.spark.engine.LocalDirectory;
import io.keylake.spark.maintenance.TaskFiles;
import io.keylake.tables.storage.MemoryBudget;
import io.keylake.tables.storage.OperationFiles;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkStatusTracker;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.Option;

/**
 * A job that turns equality deletes into positions. Nothing that it has written stays if it fails:
 * a task deletes its own files, and the driver those of the tasks that had been done, by their
 * names.
 */
final class EqualityDeleteWork {
  private static final Logger LOG = LoggerFactory.getLogger(EqualityDeleteWork.class);
  private static final int MOST_SECONDS_TO_END = 10;
  private static final int MILLISECONDS_BETWEEN_LOOKS = 50;

  private EqualityDeleteWork() {}

  /**
   * Converts portions of a table in one job.
   *
   * @param atOnce how many tasks there are at most
   */
  static List<Converted> run(
      SparkContext spark, Table table, List<Conversion> conversions, int atOnce) {
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
    Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
    String operation = "deletes-" + UUID.randomUUID();
    boolean isWhole = false;
    spark.addJobTag(operation);
    try {
      int tasks = Math.min(conversions.size(), atOnce);
      List<Converted> all =
          context
              .parallelize(conversions, tasks)
              .mapPartitions(new Runner(copy, operation))
              .collect();
      isWhole = true;
      return all;
    } finally { // Spark throws what no signature tells
      spark.removeJobTag(operation);
      if (!isWhole) {
        waitForTasks(spark.statusTracker(), operation);
        OperationFiles.delete(table, operation);
      }
      copy.destroy();
    }
  }

  /** Tasks are told to end when a job fails, and some are done before they hear it. */
  private static void waitForTasks(SparkStatusTracker tracker, String tag) {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(MOST_SECONDS_TO_END);
    try {
      while (System.nanoTime() < until && hasTasks(tracker, tag)) {
        Thread.sleep(MILLISECONDS_BETWEEN_LOOKS);
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  private static boolean hasTasks(SparkStatusTracker tracker, String tag) {
    return IntStream.of(tracker.getJobIdsForTag(tag))
        .mapToObj(tracker::getJobInfo)
        .filter(Option::isDefined)
        .flatMapToInt(job -> IntStream.of(job.get().stageIds()))
        .mapToObj(tracker::getStageInfo)
        .anyMatch(stage -> stage.isDefined() && stage.get().numActiveTasks() > 0);
  }

  private static void delete(FileIO io, List<String> locations) {
    for (String location : locations) {
      try {
        io.deleteFile(location);
      } catch (RuntimeException e) {
        LOG.warn("{} stays, though it is part of no table", location, e);
      }
    }
  }

  /**
   * Runs where a task is; a class of its own, so that nothing else travels with it.
   *
   * @param operation the common part of the new files' names
   */
  record Runner(Broadcast<Table> table, String operation)
      implements FlatMapFunction<Iterator<Conversion>, Converted> {
    @Override
    public Iterator<Converted> call(Iterator<Conversion> conversions) throws IOException {
      Table copy = table.value();
      TaskContext task = TaskContext.get();
      WrittenFiles written = new WrittenFiles(copy.io());
      // Another attempt may have won meanwhile: then Spark kills this one, or leaves out what it
      // gives.
      task.addTaskCompletionListener(
          ended -> {
            if (ended.isFailed() || ended.isInterrupted()) {
              delete(copy.io(), written.locations());
            }
          });
      Names names = new Names(copy, operation, written);
      List<Converted> converted = new ArrayList<>();
      while (conversions.hasNext()) {
        try (LocalDirectory local = LocalDirectory.create("keylake-deletes")) {
          Place place = new Place(task, CountedMemory.of(task), local.path().toPath(), names);
          converted.add(conversions.next().run(copy, place));
        }
      }
      return converted.iterator();
    }
  }

  /**
   * The names of written files, whose numbers go on from portion to portion: a task gives no name
   * twice.
   */
  private static final class Names {
    private final Table table;
    private final String operation;
    private final WrittenFiles io;
    private final Map<FileFormat, OutputFileFactory> byFormat = new EnumMap<>(FileFormat.class);

    Names(Table table, String operation, WrittenFiles io) {
      this.table = table;
      this.operation = operation;
      this.io = io;
    }

    OutputFileFactory of(FileFormat format) {
      return byFormat.computeIfAbsent(format, each -> TaskFiles.named(table, each, operation, io));
    }
  }

  private record Place(TaskContext task, MemoryBudget memory, Path directory, Names files)
      implements Conversion.Place {
    @Override
    public OutputFileFactory names(FileFormat format) {
      return files.of(format);
    }

    @Override
    public boolean isCancelled() {
      return task.isInterrupted();
    }
  }
}
