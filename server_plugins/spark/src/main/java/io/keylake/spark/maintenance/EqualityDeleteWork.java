package io.keylake.spark.maintenance;

import io.keylake.spark.engine.LocalDirectory;
import io.keylake.tables.conversion.Conversion;
import io.keylake.tables.conversion.Converted;
import io.keylake.tables.deletes.MemoryBudget;
import java.io.IOException;
import java.io.Serializable;
import java.nio.file.Path;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;

/**
 * What one task does to turn equality deletes into positions.
 *
 * @param operation the common part of the new files' names
 */
public record EqualityDeleteWork(Conversion conversion, String operation) implements Serializable {

  /** Converts portions of a table in one job, with a task for each. */
  public static List<Converted> run(SparkContext spark, Table table, List<Conversion> conversions) {
    String operation = "deletes-" + UUID.randomUUID();
    List<EqualityDeleteWork> works =
        conversions.stream().map(each -> new EqualityDeleteWork(each, operation)).toList();
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
    Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
    try {
      return context.parallelize(works, works.size()).map(new Runner(copy)).collect();
    } finally {
      copy.destroy();
    }
  }

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> table) implements Function<EqualityDeleteWork, Converted> {
    @Override
    public Converted call(EqualityDeleteWork work) throws IOException {
      Table copy = table.value();
      try (LocalDirectory local = LocalDirectory.create("keylake-deletes")) {
        return work.conversion().run(copy, new Task(copy, work.operation(), local));
      }
    }
  }

  private record Task(
      TaskContext task, MemoryBudget memory, Path directory, Table table, String operation)
      implements Conversion.Place {
    Task(Table table, String operation, LocalDirectory local) {
      this(
          TaskContext.get(),
          new TaskMemory(TaskContext.get()),
          local.path().toPath(),
          table,
          operation);
    }

    @Override
    public OutputFileFactory names(FileFormat format) {
      return TaskFiles.named(table, format, operation);
    }

    @Override
    public boolean isCancelled() {
      return task.isInterrupted();
    }
  }
}
