package io.keylake.tables.branches;

import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileFacts;
import io.keylake.tables.spec.ColumnNames;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedSet;
import java.util.TreeSet;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * The rows that two lines of commits may both have written, as metadata says: no key lies outside
 * of it.
 *
 * @param columns that commits of both sides have written
 * @param buckets in which files of both sides have a range of keys in common
 * @param rowsAtMost rows of these files, of the side that has fewer
 */
public record Overlap(List<String> columns, int buckets, long rowsAtMost) {
  public static final Overlap NONE = new Overlap(List.of(), 0, 0);

  static Overlap of(Table table, List<Snapshot> ours, List<Snapshot> theirs) {
    SortedSet<String> columns = columns(table, ours);
    columns.retainAll(columns(table, theirs));
    KeyedSchema schema = KeyedSchema.of(table);
    Map<List<Serializable>, List<DataFile>> byBucket = byBucket(table, theirs);
    int buckets = 0;
    long rows = 0;
    for (Map.Entry<List<Serializable>, List<DataFile>> own : byBucket(table, ours).entrySet()) {
      List<DataFile> others = byBucket.getOrDefault(own.getKey(), List.of());
      long common =
          Math.min(
              rowsThatMeet(schema, own.getValue(), others),
              rowsThatMeet(schema, others, own.getValue()));
      buckets += common > 0 ? 1 : 0;
      rows += common;
    }
    return new Overlap(List.copyOf(columns), buckets, rows);
  }

  /** Under the names of now. */
  private static SortedSet<String> columns(Table table, List<Snapshot> commits) {
    SortedSet<String> columns = new TreeSet<>();
    for (Snapshot commit : commits) {
      ColumnNames names = new ColumnNames(WriteSummary.schema(table, commit), table.schema());
      CommitLog.Entry.of(commit).columns().forEach(column -> columns.add(names.name(column)));
    }
    return columns;
  }

  private static Map<List<Serializable>, List<DataFile>> byBucket(
      Table table, List<Snapshot> commits) {
    Map<List<Serializable>, List<DataFile>> files = new HashMap<>();
    BucketCounts counts = BucketCounts.of(table);
    int coarsest = counts.all().first();
    for (Snapshot commit : commits) {
      for (DataFile file : CommittedFiles.of(table, commit)) {
        files
            .computeIfAbsent(counts.partition(file, coarsest), bucket -> new ArrayList<>())
            .add(file);
      }
    }
    return files;
  }

  /** Rows of the files whose range of keys meets that of another. */
  private static long rowsThatMeet(
      KeyedSchema schema, List<DataFile> files, List<DataFile> others) {
    List<FileFacts> facts =
        others.stream().map(file -> FileFacts.of(file, schema, List.of())).toList();
    return files.stream()
        .filter(file -> meets(schema, FileFacts.of(file, schema, List.of()), facts))
        .mapToLong(DataFile::recordCount)
        .sum();
  }

  private static boolean meets(KeyedSchema schema, FileFacts file, List<FileFacts> others) {
    return others.stream().anyMatch(other -> file.meets(other, schema));
  }
}
