package io.keylake.spark.check;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.check.TableFiles;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;

/**
 * The check of a table: its metadata on the driver, its other files as tasks, each of which looks
 * at some of them one after another.
 *
 * @param files that the table needs
 * @param findings all that is wrong, of metadata first
 */
public record TableCheck(TableFiles files, List<Finding> findings) {
  private static final int TASKS_PER_CORE = 4;
  private static final int FILES_OF_TASK = 64; // at least: a task costs more than a footer

  public TableCheck {
    findings = List.copyOf(findings);
  }

  /** Checks all files. */
  public static TableCheck of(SparkContext spark, Table table, Level level) {
    TableFiles files = TableFiles.of(table);
    List<Finding> findings = new ArrayList<>(files.findings());
    findings.addAll(check(spark, files.table(), files.files(), level));
    return new TableCheck(files, findings);
  }

  /** Checks some files of a table. */
  public static List<Finding> check(
      SparkContext spark, Table table, Collection<NeededFile> files, Level level) {
    if (files.isEmpty()) {
      return List.of();
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
    Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
    int most = spark.defaultParallelism() * TASKS_PER_CORE;
    int least = level == Level.PAGES ? 1 : FILES_OF_TASK;
    int tasks = Math.max(1, Math.min(most, files.size() / least));
    try {
      return context
          .parallelize(List.copyOf(files), tasks)
          .flatMap(new FileCheck(copy, KeyedSchema.of(table), keys(table), counts(table), level))
          .collect();
    } finally {
      copy.destroy();
    }
  }

  /** The field ids of the keys that the table has had: one that was replaced has other columns. */
  private static List<Set<Integer>> keys(Table table) {
    return table.schemas().values().stream()
        .map(schema -> Set.copyOf(schema.identifierFieldIds()))
        .distinct()
        .toList();
  }

  /** The counts of buckets, by partition spec; of other specs none. */
  private static Map<Integer, Integer> counts(Table table) {
    Map<Integer, Integer> counts = new HashMap<>();
    BucketCounts known = BucketCounts.of(table);
    known.all().forEach(count -> counts.put(specId(known, count), count));
    return counts;
  }

  private static int specId(BucketCounts known, int count) {
    try {
      return known.spec(count).specId();
    } catch (KeylakeException e) {
      return -1;
    }
  }
}
