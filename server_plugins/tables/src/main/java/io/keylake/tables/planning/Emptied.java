package io.keylake.tables.planning;

import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.WriteSummary;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.ExpressionParser;
import org.jspecify.annotations.Nullable;

/**
 * The partitions that an overwrite has emptied before it put its own files there. What it says of
 * itself tells them, also where there was nothing to remove at the time: that can change when
 * another commit is undone.
 */
final class Emptied {
  private Emptied() {}

  /**
   * The files whose partition a commit empties; null for a commit that is no overwrite.
   *
   * @param removed the files that the commit has removed
   */
  static @Nullable Predicate<DataFile> by(
      Table table, Snapshot commit, List<FileScanTask> removed) {
    Map<String, String> summary = commit.summary();
    String said = summary.get(WriteSummary.REPLACES);
    if (said == null && !isOverwrite(commit)) {
      return null;
    }
    if (said == null || summary.containsKey(WriteSummary.COPIED_WHERE)) {
      return bucketsOf(table, removed); // it says nothing, or what the whole of it has replaced
    }
    Schema schema = WriteSummary.schema(table, commit);
    Evaluator condition =
        new Evaluator(schema.asStruct(), ExpressionParser.fromJson(said, schema), true);
    Map<Integer, Map<Integer, Integer>> places = new HashMap<>();
    table.specs().forEach((id, spec) -> places.put(id, places(schema, spec)));
    return file ->
        condition.eval(
            new RowOfFile(
                schema.columns().size(),
                places.getOrDefault(file.specId(), Map.of()),
                file.partition()));
  }

  private static boolean isOverwrite(Snapshot commit) {
    return (commit.summary().containsKey(SnapshotSummary.DELETED_FILES_PROP)
            || commit.operation().equals(DataOperations.OVERWRITE))
        && !WriteSummary.isTidying(commit)
        && !WriteSummary.isUndo(commit)
        && !WriteSummary.isFileChange(commit)
        && !WriteSummary.isAdoption(commit);
  }

  private static Predicate<DataFile> bucketsOf(Table table, List<FileScanTask> removed) {
    BucketCounts counts = BucketCounts.of(table);
    int coarsest = counts.all().first();
    Set<List<Serializable>> buckets = counts.grouped(removed, coarsest).keySet();
    return file -> buckets.contains(counts.partition(file, coarsest));
  }

  /** The places of the partition values, by the places of the columns in the schema. */
  private static Map<Integer, Integer> places(Schema schema, PartitionSpec spec) {
    Map<Integer, Integer> places = new HashMap<>();
    List<PartitionField> fields = spec.fields();
    for (int column = 0; column < schema.columns().size(); column++) {
      for (int at = 0; at < fields.size(); at++) {
        PartitionField field = fields.get(at);
        if (field.transform().isIdentity()
            && field.sourceId() == schema.columns().get(column).fieldId()) {
          places.put(column, at);
        }
      }
    }
    return places;
  }

  /**
   * The columns of a file's rows that its partition tells.
   *
   * @param places of the partition values, by the places of the columns in the schema
   */
  private record RowOfFile(int size, Map<Integer, Integer> places, StructLike partition)
      implements StructLike {
    @Override
    public <T> @Nullable T get(int position, Class<T> type) {
      Integer at = places.get(position);
      return at == null ? null : partition.get(at, type);
    }

    @Override
    public <T> void set(int position, T value) {
      throw new UnsupportedOperationException("the partition of a file does not change");
    }
  }
}
