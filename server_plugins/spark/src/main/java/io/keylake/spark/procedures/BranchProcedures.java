package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.spark.maintenance.UndoRunner;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.repair.Undo;
import java.util.List;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Branches for writes that only checkers see, and ways back from writes. */
final class BranchProcedures {
  private static final int MOST_ATTEMPTS = 10;

  private static final StructType PUBLICATION =
      new StructType()
          .add("base", DataTypes.LongType)
          .add("head", DataTypes.LongType)
          .add("commits", DataTypes.LongType)
          .add("base_on_main", DataTypes.LongType)
          .add("main", DataTypes.LongType);

  private static final StructType DONE =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("commits", DataTypes.LongType)
          .add("fast_forward", DataTypes.BooleanType)
          .add("columns_of_both", DataTypes.createArrayType(DataTypes.StringType))
          .add("buckets_of_both", DataTypes.LongType)
          .add("rows_of_both_at_most", DataTypes.LongType);

  private static final StructType PICKED =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("commits", DataTypes.LongType)
          .add("files", DataTypes.LongType)
          .add("rows", DataTypes.LongType)
          .add("files_cut", DataTypes.LongType)
          .add("rows_cut", DataTypes.LongType);

  private static final StructType UNDONE =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("commits", DataTypes.LongType)
          .add("rows", DataTypes.LongType)
          .add("columns", DataTypes.createArrayType(DataTypes.StringType))
          .add("buckets", DataTypes.LongType)
          .add("files_removed", DataTypes.LongType)
          .add("files_written", DataTypes.LongType)
          .add("metadata_only", DataTypes.BooleanType);

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
              String branch = arguments.requiredText("branch");
              boolean isNew =
                  !table.refs().containsKey(branch)
                      && new Commits(table).make(new NewBranch(branch)).isCommitted();
              return List.of(LocalProcedure.row(isNew));
            }),
        new LocalProcedure(
            "drop_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            new StructType().add("snapshot_id", DataTypes.LongType),
            arguments -> {
              Table table = tables.load(arguments);
              String branch = arguments.requiredText("branch");
              table.refresh(); // another server may have made it
              SnapshotRef ref = table.refs().get(branch);
              new Commits(table).make(new DroppedBranch(branch));
              return List.of(LocalProcedure.row(ref == null ? null : ref.snapshotId()));
            }),
        new LocalProcedure(
            "publication",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            PUBLICATION,
            arguments -> {
              Publication of =
                  Publication.of(tables.load(arguments), arguments.requiredText("branch"));
              long base = of.base() == null ? CommitRange.BEGINNING : of.base();
              long commits = of.commits().commits().size();
              long main = of.main() == null ? CommitRange.BEGINNING : of.main();
              return List.of(LocalProcedure.row(base, of.head(), commits, of.baseOnMain(), main));
            }),
        new LocalProcedure(
            "publish",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("branch"),
                LocalProcedure.requiredNumber("head"),
                LocalProcedure.optional("report"),
                LocalProcedure.optionalNumber("main")),
            DONE,
            arguments -> List.of(publish(arguments))),
        pick("cherry_pick", true),
        pick("cherry_pick_plan", false),
        undo("undo", true),
        undo("undo_plan", false));
  }

  /**
   * @param isRun or only planned
   */
  private LocalProcedure undo(String name, boolean isRun) {
    return new LocalProcedure(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optionalNumber("after"),
            LocalProcedure.optionalNumber("until"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optionalNumber("commit"),
            ProcedureParameter.in("everything", DataTypes.BooleanType)
                .defaultValue("false")
                .build()),
        UNDONE,
        arguments -> {
          Table table = tables.load(arguments);
          String branch = arguments.text("branch");
          CommitRange range = RangeArgument.undone(arguments, table, branch);
          UndoRunner.Done done =
              isRun
                  ? new UndoRunner(SparkSession.active().sparkContext(), table, branch).run(range)
                  : new UndoRunner.Done(Undo.of(table, branch, range), List.of());
          Undo undo = done.undo();
          return List.of(
              LocalProcedure.row(
                  isRun ? new CommitLog(table, branch).headId() : null,
                  (long) undo.writes().size(),
                  undo.rows(),
                  undo.columns(),
                  (long) undo.buckets().size(),
                  undo.buckets().stream().mapToLong(bucket -> bucket.removed().size()).sum(),
                  (long) done.files().size(),
                  undo.isMetadataOnly()));
        });
  }

  /**
   * @param isRun or only planned
   */
  private LocalProcedure pick(String name, boolean isRun) {
    return new LocalProcedure(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optionalNumber("after"),
            LocalProcedure.optionalNumber("until"),
            LocalProcedure.optional("source"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optional("where")),
        PICKED,
        arguments -> {
          Table table = tables.load(arguments);
          String where = arguments.text("where");
          CommitRange range =
              RangeArgument.of(arguments, table, arguments.text("source")).commits();
          CherryPick pick =
              CherryPick.of(
                  table,
                  arguments.text("branch"),
                  range,
                  where == null
                      ? Expressions.alwaysTrue()
                      : tables.condition(arguments.requiredText("table"), where),
                  where);
          return List.of(
              LocalProcedure.row(
                  isRun ? pick.run() : null,
                  (long) pick.writes(),
                  pick.files(),
                  pick.rows(),
                  pick.cutFiles(),
                  pick.cutRows()));
        });
  }

  /**
   * Publishes a branch whose rows are still those of the checked commit. Where a commit of main is
   * given, the rows of main have to be those of that commit, too. A compaction changes none.
   */
  private InternalRow publish(LocalProcedure.Arguments arguments) {
    Table table = tables.load(arguments);
    long checkedHead = arguments.requiredNumber("head");
    Long checkedMain = arguments.number("main");
    for (int attempt = 1; ; attempt++) {
      Publication of = Publication.of(table, arguments.requiredText("branch"));
      if (!CommitRange.isTidiedOnly(table, checkedHead, of.head())) {
        throw moved("branch '%s'".formatted(of.branch()), of.head());
      }
      long main = of.main() == null ? CommitRange.BEGINNING : of.main();
      if (checkedMain != null && !CommitRange.isTidiedOnly(table, checkedMain, main)) {
        throw moved("main", main);
      }
      try {
        return row(of.publish(arguments.text("report")));
      } catch (KeylakeException e) {
        if (e.kind() != COMMIT_CONFLICT || attempt == MOST_ATTEMPTS) {
          throw e;
        }
        table.refresh(); // one of the two has moved; whether that matters is looked at above
      }
    }
  }

  private static KeylakeException moved(String what, long to) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "%s has moved to commit %d while the branch was checked; publish again"
            .formatted(what, to));
  }

  private static InternalRow row(Publication.Done done) {
    return LocalProcedure.row(
        done.snapshotId(),
        (long) done.commits(),
        done.isFastForward(),
        done.overlap().columns(),
        (long) done.overlap().buckets(),
        done.overlap().rowsAtMost());
  }
}
