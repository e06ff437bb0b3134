package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Expression;
import org.jspecify.annotations.Nullable;

/**
 * Makes the writes of some commits of a branch again on another, or of each the files that a
 * condition selects whole. What is there already is left out; no file is opened.
 *
 * @param target the branch they come to
 * @param commits what is picked
 * @param cutFiles files of which the condition selects some rows only: they would have to be
 *     written anew, and nothing is picked while there are any
 */
public record CherryPick(
    Table table, String target, CopiedCommits commits, long cutFiles, long cutRows)
    implements Change {

  /**
   * Plans it.
   *
   * @param target null for main
   * @param where as an expression, and as it was said; null for all
   */
  public static CherryPick of(
      Table table,
      @Nullable String target,
      CommitRange range,
      Expression condition,
      @Nullable String where) {
    CopiedCommits missing = CopiedCommits.of(table, range, new CommitLog(table, target).head());
    CopiedCommits.Selection selected = missing.where(condition, where);
    return new CherryPick(
        table,
        target == null ? SnapshotRef.MAIN_BRANCH : target,
        selected.commits(),
        selected.cutFiles(),
        selected.cutRows());
  }

  public int writes() {
    return commits.copies().size();
  }

  public long files() {
    return commits.files();
  }

  public long rows() {
    return commits.rows();
  }

  /** Picks, and gives the snapshot that the target stands at then. */
  public long run() {
    if (cutFiles > 0) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the condition selects only a part of %d files with %d rows, which would have to be written anew; take a condition on whole partitions or files, or write the rows themselves: update(source.appended(...))"
              .formatted(cutFiles, cutRows));
    }
    if (commits.copies().isEmpty()) {
      throw new KeylakeException(
          NOTHING_TO_DO,
          "no commit of the range has written anything that branch '%s' of %s has not; there is nothing to pick"
              .formatted(target, table.name()));
    }
    try {
      Commits.Result result = new Commits(table).make(this);
      if (!result.isCommitted()) {
        throw lost("some of the files came to it meanwhile");
      }
      return result.lastSnapshotId();
    } catch (ValidationException e) {
      String why = String.valueOf(e.getMessage());
      if (why.contains("not all, rows match filter")) {
        throw new KeylakeException(
            UNSUPPORTED,
            "an overwrite among the commits replaces only a part of some files of branch '%s'; pick it whole, or overwrite there"
                .formatted(target));
      }
      throw lost(why);
    }
  }

  @Override
  public void addTo(Attempt attempt) {
    commits.addTo(attempt, target, parent -> {});
  }

  @Override
  public KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "picking onto branch '%s' of %s lost against another commit (%s); pick again"
            .formatted(target, table.name(), why));
  }
}
