package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The arguments {@code after} and {@code until} of a call: from the first commit of a branch, and
 * to the newest, where they do not say.
 *
 * @param until null where the branch has no commit
 */
record RangeArgument(Table table, long after, @Nullable Long until) {
  /**
   * @param branch null for main
   */
  static RangeArgument of(Arguments arguments, Table table, @Nullable String branch) {
    Long after = arguments.number("after");
    Long until = arguments.number("until");
    return new RangeArgument(
        table,
        after == null ? CommitRange.BEGINNING : after,
        until == null ? new CommitLog(table, branch).headId() : until);
  }

  /**
   * The commits that an undo takes back: one, those after another, or everything, which has to be
   * said.
   *
   * @param branch null for main
   */
  static CommitRange undone(Arguments arguments, Table table, @Nullable String branch) {
    Long commit = arguments.number("commit");
    boolean isEverything = arguments.isSet("everything");
    boolean isRange = arguments.isGiven("after");
    if (commit != null && (isRange || isEverything || arguments.isGiven("until"))) {
      throw new KeylakeException(
          DEFINITION,
          "commit => %d is a range of one commit; leave after, until and everything away"
              .formatted(commit));
    }
    if (isRange && isEverything) {
      throw new KeylakeException(
          DEFINITION,
          "after => %d begins behind a commit and everything => true at the first one; give one of both"
              .formatted(arguments.number("after")));
    }
    if (commit != null) {
      return CommitRange.ofOne(table, branch, commit);
    }
    if (!isRange && !isEverything) {
      throw new KeylakeException(
          DEFINITION,
          "the range of commits of %s has no beginning; give commit => for one commit, after => for those behind one, or everything => true for all of them"
              .formatted(table.name()));
    }
    return of(arguments, table, branch).commits();
  }

  /** The commits, all of which have to be there. */
  CommitRange commits() {
    if (until == null || until == CommitRange.BEGINNING) {
      throw new KeylakeException(
          NOT_FOUND, "table %s has no commit yet; write to it first".formatted(table.name()));
    }
    return CommitRange.of(table, after, until);
  }
}
