package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.EqualityDeletes;
import io.keylake.plaindeletes.index.PlannedFile;
import io.keylake.spark.engine.ScanFiles;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.connector.read.Batch;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;

/**
 * Iceberg's tasks, each with the groups of deletes of its files. Tasks that need the same index are
 * side by side, so that it is not needed for long.
 */
final class IndexedBatch implements Batch {
  private final Batch batch;
  private final Table table;
  private final EqualityDeletes deletes;
  private final ReadColumns columns;
  private final long memoryBytes;

  IndexedBatch(
      Batch batch, Table table, EqualityDeletes deletes, ReadColumns columns, long memoryBytes) {
    this.batch = batch;
    this.table = table;
    this.deletes = deletes;
    this.columns = columns;
    this.memoryBytes = memoryBytes;
  }

  @Override
  public InputPartition[] planInputPartitions() {
    Map<String, PlannedFile> files = new HashMap<>();
    deletes.files().forEach(file -> files.put(file.task().file().location(), file));
    List<Map<String, FileDeletes>> needed = new ArrayList<>();
    int[] uses = new int[deletes.groups().size()];
    InputPartition[] partitions = batch.planInputPartitions();
    for (InputPartition partition : partitions) {
      Map<String, FileDeletes> ofPartition = needed(partition, files);
      Set<Integer> groups = new HashSet<>();
      ofPartition.values().forEach(file -> groups.addAll(file.groups()));
      groups.forEach(group -> uses[group]++);
      needed.add(ofPartition);
    }
    Broadcast<ScanDeletes> shared =
        JavaSparkContext.fromSparkContext(SparkContext.getOrCreate())
            .broadcast(
                new ScanDeletes(
                    UUID.randomUUID().toString(),
                    SerializableTable.copyOf(table),
                    deletes.groups(),
                    uses,
                    memoryBytes));
    List<IndexedPartition> indexed = new ArrayList<>();
    for (int i = 0; i < partitions.length; i++) {
      indexed.add(new IndexedPartition(partitions[i], i, needed.get(i), shared));
    }
    indexed.sort(Comparator.comparingInt(IndexedPartition::lastGroup));
    return indexed.toArray(InputPartition[]::new);
  }

  private static Map<String, FileDeletes> needed(
      InputPartition partition, Map<String, PlannedFile> files) {
    Map<String, FileDeletes> needed = new LinkedHashMap<>();
    for (FileScanTask task : ScanFiles.of(partition)) {
      PlannedFile file = files.get(task.file().location());
      if (file != null && !file.groups().isEmpty()) {
        needed.put(task.file().location(), new FileDeletes(file.sequenceNumber(), file.groups()));
      }
    }
    return needed;
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return new IndexedReaderFactory(batch.createReaderFactory(), columns);
  }

  @Override
  public boolean equals(Object other) {
    return other instanceof IndexedBatch that
        && batch.equals(that.batch)
        && columns.shown().equals(that.columns.shown());
  }

  @Override
  public int hashCode() {
    return batch.hashCode();
  }
}
