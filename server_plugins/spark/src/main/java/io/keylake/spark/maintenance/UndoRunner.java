package io.keylake.spark.maintenance;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.repair.Undo;
import io.keylake.tables.repair.UndoChange;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.jspecify.annotations.Nullable;

/** Carries an undo out: merges anew what has to be, a task for each bucket, and commits once. */
public final class UndoRunner {
  private static final int MOST_ATTEMPTS = 10;

  private final SparkContext spark;
  private final Table table;
  private final @Nullable String branch;

  /**
   * @param branch null for main
   */
  public UndoRunner(SparkContext spark, Table table, @Nullable String branch) {
    this.spark = spark;
    this.table = table;
    this.branch = branch;
  }

  /**
   * The result of an undo.
   *
   * @param files that were written; none where metadata was enough
   */
  public record Done(Undo undo, List<DataFile> files) {}

  /**
   * Takes the writes of a range back. Where another commit comes in between, it is planned anew.
   */
  public Done run(CommitRange undone) {
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      table.refresh();
      Undo undo = Undo.of(table, branch, undone);
      List<DataFile> files = merged(undo);
      if (new Commits(table).make(new UndoChange(branch, undo, files)).isCommitted()) {
        return new Done(undo, files);
      }
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "the undo on %s lost against other commits %d times; undo again when there are fewer of them"
            .formatted(table.name(), MOST_ATTEMPTS));
  }

  private List<DataFile> merged(Undo undo) {
    long targetFileBytes = CompactionPolicy.of(table).targetFileBytes();
    String operation = "undo-" + UUID.randomUUID();
    List<CompactionWork> works = new ArrayList<>();
    for (Undo.Bucket bucket : undo.buckets()) {
      if (!bucket.merged().sections().isEmpty()) {
        works.add(
            new CompactionWork(
                undo.schema(),
                List.of(bucket.merged()),
                bucket.tuple(),
                undo.of(),
                operation,
                targetFileBytes,
                null));
      }
    }
    return CompactionWork.run(spark, table, works);
  }
}
