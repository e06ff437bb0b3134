package io.keylake.spark.maintenance;

import io.keylake.spark.parquet.SortedFiles;
import io.keylake.spark.read.merge.SupersededRows;
import io.keylake.tables.compaction.Settlement;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.storage.DeletionVectors;
import java.io.IOException;
import java.io.Serializable;
import java.util.HashMap;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteWriter;
import org.apache.iceberg.io.FileWriterFactory;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.roaringbitmap.PeekableIntIterator;
import org.roaringbitmap.RoaringBitmap;

/**
 * The work of one task that settles a bucket: it finds the superseded rows of its open sections,
 * and records them for each data file: as a deletion vector, or in tables of format 2 as a file of
 * positions.
 *
 * @param inputs the files, by location
 * @param operation the common part of the new files' names
 */
record SettleWork(KeyedSchema schema, BucketPlan plan, Map<String, Input> inputs, String operation)
    implements Serializable {
  /**
   * A data file.
   *
   * @param known how many of its rows are recorded already
   */
  record Input(int specId, StructLike partition, long known) implements Serializable {}

  /** The result of the work. */
  record Done(Map<String, DeleteFile> superseded, boolean isUnique) implements Serializable {}

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> table) implements Function<SettleWork, Done> {
    @Override
    public Done call(SettleWork work) throws IOException {
      return work.run(table.value());
    }
  }

  static SettleWork of(KeyedSchema schema, Settlement settlement, String operation) {
    Map<String, Input> inputs = new HashMap<>();
    for (FileScanTask task : settlement.inputs()) {
      long rows = task.deletes().stream().mapToLong(DeleteFile::recordCount).sum();
      DataFile file = task.file();
      inputs.put(file.location(), new Input(file.specId(), file.partition(), rows));
    }
    return new SettleWork(schema, settlement.plan(), inputs, operation);
  }

  private Done run(Table table) throws IOException {
    Map<String, RoaringBitmap> superseded = new HashMap<>();
    boolean isUnique = true;
    for (SectionPlan section : plan.sections()) {
      if (TaskContext.get().isInterrupted()) {
        throw new IOException("the compaction was cancelled");
      }
      SupersededRows.RowsByFile found = SupersededRows.find(table.io(), schema, section);
      superseded.putAll(found.byFile());
      isUnique &= found.isUnique();
    }
    superseded
        .entrySet()
        .removeIf(each -> each.getValue().getLongCardinality() == input(each.getKey()).known());
    boolean hasVectors = DeletionVectors.areIn(table);
    return new Done(
        hasVectors ? vectors(table, superseded) : positions(table, superseded), isUnique);
  }

  private Input input(String location) {
    return Objects.requireNonNull(inputs.get(location), "only inputs are looked at");
  }

  private Map<String, DeleteFile> vectors(Table table, Map<String, RoaringBitmap> superseded)
      throws IOException {
    DVFileWriter writer =
        new BaseDVFileWriter(
            TaskFiles.named(table, FileFormat.PUFFIN, operation), location -> null);
    try (writer) {
      superseded.forEach(
          (location, rows) -> {
            Input file = input(location);
            PartitionSpec spec = table.specs().get(file.specId());
            for (PeekableIntIterator each = rows.getIntIterator(); each.hasNext(); ) {
              writer.delete(location, each.next(), spec, file.partition());
            }
          });
    }
    Map<String, DeleteFile> files = new HashMap<>();
    for (DeleteFile file : writer.result().deleteFiles()) {
      files.put(file.referencedDataFile(), file);
    }
    return files;
  }

  private Map<String, DeleteFile> positions(Table table, Map<String, RoaringBitmap> superseded)
      throws IOException {
    OutputFileFactory places = TaskFiles.named(table, FileFormat.PARQUET, operation);
    FileWriterFactory<Record> writers =
        new GenericFileWriterFactory.Builder(table).deleteFileFormat(FileFormat.PARQUET).build();
    Map<String, DeleteFile> files = new HashMap<>();
    for (Map.Entry<String, RoaringBitmap> each : superseded.entrySet()) {
      Input file = input(each.getKey());
      PartitionSpec spec =
          Objects.requireNonNull(table.specs().get(file.specId()), "a table keeps its specs");
      PositionDeleteWriter<Record> writer =
          writers.newPositionDeleteWriter(
              SortedFiles.place(places, spec, file.partition()), spec, file.partition());
      try (writer) {
        PositionDelete<Record> row = PositionDelete.create();
        for (PeekableIntIterator rows = each.getValue().getIntIterator(); rows.hasNext(); ) {
          writer.write(row.set(each.getKey(), rows.next()));
        }
      }
      files.put(each.getKey(), writer.toDeleteFile());
    }
    return files;
  }
}
