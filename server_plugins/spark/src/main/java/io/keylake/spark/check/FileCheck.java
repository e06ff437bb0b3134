package io.keylake.spark.check;

import io.keylake.tables.check.Finding;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serial;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.broadcast.Broadcast;

/**
 * The check of one file, where a task is. A file of another size is not looked into: its end, where
 * the footer is, lies elsewhere.
 */
final class FileCheck implements FlatMapFunction<NeededFile, Finding> {
  @Serial private static final long serialVersionUID = 1L;

  private final Broadcast<Table> table;
  private final KeyedSchema schema;
  private final List<Set<Integer>> keys;
  private final Map<Integer, Integer> counts;
  private final Level level;

  /**
   * @param keys field ids of the keys that the table has had
   * @param counts of buckets, by partition spec
   */
  FileCheck(
      Broadcast<Table> table,
      KeyedSchema schema,
      List<Set<Integer>> keys,
      Map<Integer, Integer> counts,
      Level level) {
    this.table = table;
    this.schema = schema;
    this.keys = List.copyOf(keys);
    this.counts = Map.copyOf(counts);
    this.level = level;
  }

  @Override
  public Iterator<Finding> call(NeededFile file) {
    return findings(table.value().io(), file).iterator();
  }

  private List<Finding> findings(FileIO io, NeededFile file) {
    Finding length = Finding.ofLength(io, file.location(), file.bytes());
    if (length != null) {
      return List.of(length);
    }
    if (file.format() == FileFormat.PUFFIN) {
      return new PuffinCheck(io, file, level).findings();
    }
    return file.format() == FileFormat.PARQUET
        ? new ParquetCheck(io, file, schema, counts.getOrDefault(file.specId(), 0), level)
            .findings(keys)
        : List.of();
  }
}
