package io.keylake.spark.procedures;

import io.keylake.spark.maintenance.CompactionRunner;
import io.keylake.spark.maintenance.CompactionRunner.Outcome;
import io.keylake.spark.maintenance.MergedBranchRefresh;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.compaction.BucketLayout;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionPlan.Choice;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.compaction.Settlement;
import io.keylake.tables.outcomes.CertainOperations;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** The procedures of compaction: the plan, and the compaction itself. */
final class CompactionProcedures {
  /** The word for the policy that merges whatever is not merged yet. */
  private static final String FULL = "full";

  /** The word for the policy that settles whatever is not settled yet, and merges nothing. */
  private static final String SETTLE = "settle";

  /** The word for what maintenance does: the policy of the table, also of the newest small runs. */
  private static final String MAINTENANCE = "maintenance";

  private static final StructType CHOICE =
      new StructType()
          .add("bucket", DataTypes.StringType)
          .add("files", DataTypes.LongType)
          .add("depth", DataTypes.LongType)
          .add("bytes", DataTypes.LongType)
          .add("run_ages", DataTypes.createArrayType(DataTypes.LongType))
          .add("run_bytes", DataTypes.createArrayType(DataTypes.LongType))
          .add("run_rows", DataTypes.createArrayType(DataTypes.LongType))
          .add("reason", DataTypes.StringType)
          .add("because", DataTypes.StringType)
          .add("merges_files", DataTypes.LongType)
          .add("merges_bytes", DataTypes.LongType);

  private static final StructType OUTCOME =
      new StructType()
          .add("bucket", DataTypes.StringType)
          .add("state", DataTypes.StringType)
          .add("reason", DataTypes.StringType)
          .add("because", DataTypes.StringType)
          .add("files_merged", DataTypes.LongType)
          .add("files_written", DataTypes.LongType)
          .add("rows_merged", DataTypes.LongType)
          .add("rows_written", DataTypes.LongType)
          .add("rows_superseded", DataTypes.LongType)
          .add("bytes_merged", DataTypes.LongType)
          .add("bytes_written", DataTypes.LongType)
          .add("seconds", DataTypes.DoubleType);

  private static final StructType MERGED =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("of_snapshot_id", DataTypes.LongType)
          .add("rows", DataTypes.LongType);

  private final TableArgument tables;

  CompactionProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    List<ProcedureParameter> in =
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optional("policy"));
    return List.of(
        new LocalProcedure(
            "compaction_plan",
            in,
            CHOICE,
            arguments ->
                runner(arguments).plan().buckets().stream()
                    .map(CompactionProcedures::row)
                    .toList()),
        new LocalProcedure(
            "compact",
            in,
            OUTCOME,
            arguments ->
                runner(arguments).run(spark().defaultParallelism()).stream()
                    .map(CompactionProcedures::row)
                    .toList()),
        new LocalProcedure(
            "rebucket",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            OUTCOME,
            arguments -> {
              Table table = tables.load(arguments);
              CompactionPolicy policy = CompactionPolicy.of(table).onlyRebucketing();
              return new CompactionRunner(spark(), table, arguments.text("branch"), policy)
                  .run(spark().defaultParallelism()).stream()
                      .map(CompactionProcedures::row)
                      .toList();
            }),
        new LocalProcedure(
            "compaction_policy",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("policy")),
            new StructType().add("policy", DataTypes.StringType),
            this::policy),
        new LocalProcedure(
            "refresh_merged",
            List.of(LocalProcedure.required("table")),
            MERGED,
            arguments -> {
              MergedBranchRefresh.Done done =
                  MergedBranchRefresh.run(
                      spark(), tables.load(arguments), spark().defaultParallelism());
              return List.of(LocalProcedure.row(done.snapshotId(), done.sourceId(), done.rows()));
            }));
  }

  /** Sets the policy of the table, if one is given, and says which it is. */
  private List<InternalRow> policy(Arguments arguments) {
    Table table = tables.load(arguments);
    String said = arguments.text("policy");
    CompactionPolicy policy = policy(said, table);
    if (said != null) {
      CertainOperations.of(table)
          .updateProperties()
          .set(CompactionPolicy.PROPERTY, policy.toJson())
          .commit();
    }
    return List.of(LocalProcedure.row(policy.toJson()));
  }

  private CompactionRunner runner(Arguments arguments) {
    Table table = tables.load(arguments);
    return new CompactionRunner(
        spark(),
        table,
        arguments.text("branch"),
        isOfMaintenance(arguments)
            ? CompactionPolicy.of(table)
            : policy(arguments.text("policy"), table).ofAllAges());
  }

  private static boolean isOfMaintenance(Arguments arguments) {
    return MAINTENANCE.equalsIgnoreCase(arguments.text("policy"));
  }

  private static SparkContext spark() {
    return SparkSession.active().sparkContext();
  }

  private static CompactionPolicy policy(@Nullable String said, Table table) {
    if (said == null) {
      return CompactionPolicy.of(table);
    }
    return switch (said.toLowerCase(Locale.ROOT)) {
      case FULL -> CompactionPolicy.FULL;
      case SETTLE -> CompactionPolicy.SETTLE;
      default -> CompactionPolicy.fromJson(said);
    };
  }

  private static InternalRow row(Choice choice) {
    BucketLayout layout = choice.layout();
    Optional<Compaction> compaction = choice.compaction();
    return LocalProcedure.row(
        shown(choice.partition()),
        (long) layout.files(),
        (long) layout.depth(),
        layout.bytes(),
        layout.runs().stream().map(Run::age).toList(),
        layout.runs().stream().map(Run::bytes).toList(),
        layout.runs().stream().map(Run::rows).toList(),
        choice.settling().isPresent()
            ? Settlement.REASON
            : compaction.map(Compaction::reason).orElse(null),
        choice.settling().or(() -> compaction.map(Compaction::because)).orElse(null),
        compaction.map(each -> (long) each.inputs().size()).orElse(0L),
        compaction.map(Compaction::bytes).orElse(0L));
  }

  private static InternalRow row(Outcome outcome) {
    return LocalProcedure.row(
        shown(outcome.partition()),
        outcome.isCommitted() ? "committed" : "lost",
        outcome.reason(),
        outcome.because(),
        outcome.read().files(),
        outcome.written().files(),
        outcome.read().rows(),
        outcome.written().rows(),
        outcome.rowsSuperseded(),
        outcome.read().bytes(),
        outcome.written().bytes(),
        outcome.seconds());
  }

  /** Values of the partition, the bucket last. */
  private static String shown(List<?> partition) {
    return partition.stream().map(String::valueOf).collect(Collectors.joining("/"));
  }
}
