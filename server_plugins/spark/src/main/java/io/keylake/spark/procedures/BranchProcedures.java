package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.CommitRange;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Publication;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Branches for writes that only checkers see: made, looked at, and published. */
final class BranchProcedures {
  private static final StructType PUBLICATION =
      new StructType()
          .add("base", DataTypes.LongType)
          .add("head", DataTypes.LongType)
          .add("commits", DataTypes.LongType);

  private static final StructType DONE =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("commits", DataTypes.LongType)
          .add("fast_forward", DataTypes.BooleanType);

  private final TableArgument tables;

  BranchProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        new LocalProcedure(
            "ensure_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            new StructType().add("is_new", DataTypes.BooleanType),
            arguments -> {
              Table table = tables.load(arguments);
              String branch = arguments.text("branch");
              boolean isNew = !table.refs().containsKey(branch);
              if (isNew) {
                table.manageSnapshots().createBranch(branch).commit();
              }
              return List.of(LocalProcedure.row(isNew));
            }),
        new LocalProcedure(
            "publication",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            PUBLICATION,
            arguments -> {
              Publication of = Publication.of(tables.load(arguments), arguments.text("branch"));
              long base = of.base() == null ? CommitRange.BEGINNING : of.base();
              long commits = of.commits().commits().size();
              return List.of(LocalProcedure.row(base, of.head(), commits));
            }),
        new LocalProcedure(
            "publish",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("branch"),
                LocalProcedure.requiredNumber("head"),
                LocalProcedure.optional("report")),
            DONE,
            arguments -> List.of(publish(arguments))));
  }

  /** What was checked is published, and nothing that came to the branch since. */
  private InternalRow publish(LocalProcedure.Arguments arguments) {
    Publication of = Publication.of(tables.load(arguments), arguments.text("branch"));
    if (of.head() != arguments.number("head")) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "branch '%s' has moved to commit %d while it was checked; publish again"
              .formatted(of.branch(), of.head()));
    }
    Publication.Done done = of.publish(arguments.text("report"));
    return LocalProcedure.row(done.snapshotId(), (long) done.commits(), done.isFastForward());
  }
}
