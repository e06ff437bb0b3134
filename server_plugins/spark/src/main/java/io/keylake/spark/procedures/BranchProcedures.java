package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.conditions.RequiredCondition;
import io.keylake.spark.conditions.RowCondition;
import io.keylake.spark.maintenance.ReleaseRunner;
import io.keylake.spark.maintenance.UndoRunner;
import io.keylake.spark.read.merge.CompactionRows;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.branches.DroppedBranch;
import io.keylake.tables.branches.NewBranch;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.quarantine.Release;
import io.keylake.tables.repair.Undo;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/** Branches for writes that only checkers see, and ways back from writes. */
final class BranchProcedures {
  private static final int MOST_ATTEMPTS = 10;

  /** The commits of a branch that a publication would bring to main. */
  private record PublicationRow(
      long base, long head, long commits, @Nullable Long baseOnMain, long main) {}

  /** The outcome of a publication. */
  private record PublishedRow(
      long snapshotId,
      long commits,
      boolean fastForward,
      List<String> columnsOfBoth,
      long bucketsOfBoth,
      @Nullable Long rowsOfBothAtMost) {}

  /** The outcome of a cherry-pick; no snapshot where it was only planned. */
  private record PickedRow(
      @Nullable Long snapshotId,
      long commits,
      long files,
      long rows,
      long filesCut,
      long rowsCut) {}

  /** The outcome of an undo; no snapshot where it was only planned. */
  private record UndoneRow(
      @Nullable Long snapshotId,
      long commits,
      long rows,
      List<String> columns,
      long buckets,
      long filesRemoved,
      long filesWritten,
      boolean metadataOnly) {}

  /** A condition by which rows were held back, and how many the quarantine has. */
  private record HeldRow(String condition, List<String> versions, boolean isKnown, long rows) {}

  /** The outcome of a release; no snapshot where rows were discarded. */
  private record ReleasedRow(
      @Nullable Long snapshotId, long rows, long rowsLeft, long filesAsTheyAre) {}

  /** Says that a branch was made, or was there. */
  private record NewBranchRow(boolean isNew) {}

  /** The commit at which a branch stood that was dropped. */
  private record DroppedBranchRow(@Nullable Long snapshotId) {}

  private final TableArgument tables;

  BranchProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "ensure_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            NewBranchRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              String branch = arguments.requiredText("branch");
              boolean isNew =
                  !table.refs().containsKey(branch)
                      && new Commits(table).make(new NewBranch(branch)).isCommitted();
              return List.of(new NewBranchRow(isNew));
            }),
        LocalProcedure.of(
            "drop_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            DroppedBranchRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              String branch = arguments.requiredText("branch");
              table.refresh(); // another server may have made it
              SnapshotRef ref = table.refs().get(branch);
              new Commits(table).make(new DroppedBranch(branch));
              return List.of(new DroppedBranchRow(ref == null ? null : ref.snapshotId()));
            }),
        LocalProcedure.of(
            "publication",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("branch")),
            PublicationRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              checkNoQuarantine(table, arguments.text("branch"));
              Publication of = Publication.of(table, arguments.requiredText("branch"));
              long base = of.base() == null ? CommitRange.BEGINNING : of.base();
              long commits = of.commits().commits().size();
              long main = of.main() == null ? CommitRange.BEGINNING : of.main();
              return List.of(new PublicationRow(base, of.head(), commits, of.baseOnMain(), main));
            }),
        LocalProcedure.of(
            "publish",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("branch"),
                LocalProcedure.requiredNumber("head"),
                LocalProcedure.optional("report"),
                LocalProcedure.optionalNumber("main")),
            PublishedRow.class,
            arguments -> List.of(publish(arguments))),
        pick("cherry_pick", true),
        pick("cherry_pick_plan", false),
        LocalProcedure.of(
            "quarantine",
            List.of(LocalProcedure.required("table")),
            HeldRow.class,
            arguments -> held(tables.load(arguments))),
        release("release", true),
        release("discard", false),
        undo("undo", true),
        undo("undo_plan", false));
  }

  private static List<HeldRow> held(Table table) {
    Quarantine quarantine = Quarantine.of(table);
    KeyedSchema schema = KeyedSchema.of(table);
    List<HeldRow> rows = new ArrayList<>();
    for (String text : quarantine.conditions()) {
      RequiredCondition condition = RequiredCondition.of(text, schema);
      rows.add(
          new HeldRow(
              text, condition.leaves(schema), isKnown(condition, schema), quarantine.rows()));
    }
    return rows;
  }

  /** The table still has the columns of a condition. */
  private static boolean isKnown(RequiredCondition condition, KeyedSchema schema) {
    try {
      condition.checked(schema);
      return true;
    } catch (Exception e) { // Spark's are not declared
      return false;
    }
  }

  /**
   * @param isToMain or to nowhere
   */
  private LocalProcedure release(String name, boolean isToMain) {
    return LocalProcedure.of(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optional("where"),
            LocalProcedure.optional("failed")),
        ReleasedRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          String where = arguments.text("where");
          String failed = arguments.text("failed");
          KeyedSchema schema = KeyedSchema.of(table);
          RequiredCondition condition =
              failed == null ? null : RequiredCondition.of(failed, schema).checked(schema);
          RowCondition wanted =
              where == null && condition == null
                  ? null
                  : RowCondition.selecting(
                      where,
                      condition,
                      condition == null ? List.of() : condition.leaves(schema),
                      CompactionRows.type(schema));
          ReleaseRunner.Done done =
              new ReleaseRunner(SparkSession.active().sparkContext(), table).run(wanted, isToMain);
          Release release = done.release();
          return List.of(
              new ReleasedRow(
                  done.snapshotId(), release.rows(), release.rowsLeft(), release.filesAsTheyAre()));
        });
  }

  /**
   * @param isRun or only planned
   */
  private LocalProcedure undo(String name, boolean isRun) {
    return LocalProcedure.of(
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
        UndoneRow.class,
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
              new UndoneRow(
                  isRun ? new CommitLog(table, branch).headId() : null,
                  undo.writes().size(),
                  undo.rows(),
                  undo.columns(),
                  undo.buckets().size(),
                  undo.buckets().stream().mapToLong(bucket -> bucket.removed().size()).sum(),
                  done.files().size(),
                  undo.isMetadataOnly()));
        });
  }

  /**
   * @param isRun or only planned
   */
  private LocalProcedure pick(String name, boolean isRun) {
    return LocalProcedure.of(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optionalNumber("after"),
            LocalProcedure.optionalNumber("until"),
            LocalProcedure.optional("source"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optional("where")),
        PickedRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          checkNoQuarantine(table, arguments.text("source"));
          checkNoQuarantine(table, arguments.text("branch"));
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
              new PickedRow(
                  isRun ? pick.run() : null,
                  pick.writes(),
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
  private PublishedRow publish(LocalProcedure.Arguments arguments) {
    Table table = tables.load(arguments);
    checkNoQuarantine(table, arguments.text("branch"));
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

  private static void checkNoQuarantine(Table table, @Nullable String branch) {
    if (Quarantine.isOne(table, branch)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the rows of branch '%s' of %s failed a check and are held back; CALL system.release brings them to main"
              .formatted(branch, table.name()));
    }
  }

  private static KeylakeException moved(String what, long to) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "%s has moved to commit %d while the branch was checked; publish again"
            .formatted(what, to));
  }

  private static PublishedRow row(Publication.Done done) {
    return new PublishedRow(
        done.snapshotId(),
        done.commits(),
        done.isFastForward(),
        done.overlap().columns(),
        done.overlap().buckets(),
        done.overlap().rowsAtMost());
  }
}
