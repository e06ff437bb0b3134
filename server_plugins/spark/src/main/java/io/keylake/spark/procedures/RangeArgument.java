package io.keylake.spark.procedures;

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

  /** The commits, all of which have to be there. */
  CommitRange commits() {
    if (until == null || until == CommitRange.BEGINNING) {
      throw new KeylakeException(
          NOT_FOUND, "table %s has no commit yet; write to it first".formatted(table.name()));
    }
    return CommitRange.of(table, after, until);
  }
}
