package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.maintenance.CompactionRunner;
import io.keylake.spark.maintenance.CompactionRunner.Outcome;
import io.keylake.spark.maintenance.MergedBranchRefresh;
import io.keylake.spark.mergedstate.MergedStates;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.compaction.BucketLayout;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.CompactionPlan.Choice;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.compaction.Settlement;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.UpdateProperties;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.jspecify.annotations.Nullable;

/**
 * The procedures of compaction: the plan, the compaction itself, and what waits for one as late.
 */
final class CompactionProcedures {
  /** The word for the policy that merges whatever is not merged yet. */
  private static final String FULL = "full";

  /** The word for the policy that settles whatever is not settled yet, and merges nothing. */
  private static final String SETTLE = "settle";

  /** The word for what maintenance does: the policy of the table, also of the newest small runs. */
  private static final String MAINTENANCE = "maintenance";

  /** A bucket, and what a compaction would do with it. */
  private record ChoiceRow(
      String bucket,
      long files,
      long depth,
      long bytes,
      List<Long> runAges,
      List<Long> runBytes,
      List<Long> runRows,
      @Nullable String reason,
      @Nullable String because,
      long mergesFiles,
      long mergesBytes) {}

  /** A compaction of a bucket. */
  private record OutcomeRow(
      String bucket,
      String state,
      @Nullable String reason,
      @Nullable String because,
      long filesMerged,
      long filesWritten,
      long rowsMerged,
      long rowsWritten,
      long rowsSuperseded,
      long bytesMerged,
      long bytesWritten,
      double seconds) {}

  /** The commit of the branch that has merged rows. */
  private record MergedRow(long snapshotId, long ofSnapshotId, long rows) {}

  /** The plain table that has the merged rows of a commit. */
  private record StateRow(
      String metadataLocation, @Nullable Long snapshotId, @Nullable Long ofSnapshotId) {
    static StateRow of(TableMetadata state) {
      Snapshot head = state.currentSnapshot();
      return head == null
          ? new StateRow(state.metadataFileLocation(), null, null)
          : new StateRow(
              state.metadataFileLocation(),
              head.snapshotId(),
              Long.valueOf(head.summary().get(MergedBranch.SOURCE)));
    }
  }

  /** The policy of a table, as JSON. */
  private record PolicyRow(String policy) {}

  /**
   * The lateness that a table allows, and the late rows that lie in files of their own.
   *
   * @param lateBefore the event time before which a row is late now; null where none can be
   */
  private record LatenessRow(
      @Nullable String lateness,
      @Nullable Instant watermark,
      @Nullable Instant lateBefore,
      long files,
      long rows,
      long bytes) {}

  /** The first moment that clients have as a time, in microseconds. */
  private static final long FIRST_YEAR = -62_135_596_800_000_000L;

  /** The word that takes the lateness of a table away. */
  private static final String NO_LATENESS = "none";

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
        LocalProcedure.of(
            "compaction_plan",
            in,
            ChoiceRow.class,
            arguments ->
                runner(arguments).plan().buckets().stream()
                    .map(CompactionProcedures::row)
                    .toList()),
        LocalProcedure.of(
            "compact",
            in,
            OutcomeRow.class,
            arguments ->
                runner(arguments).run(spark().defaultParallelism()).stream()
                    .map(CompactionProcedures::row)
                    .toList()),
        LocalProcedure.of(
            "rebucket",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            OutcomeRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              CompactionPolicy policy = CompactionPolicy.of(table).onlyRebucketing();
              return new CompactionRunner(spark(), table, arguments.text("branch"), policy)
                  .run(spark().defaultParallelism()).stream()
                      .map(CompactionProcedures::row)
                      .toList();
            }),
        LocalProcedure.of(
            "compaction_policy",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("policy")),
            PolicyRow.class,
            this::policy),
        LocalProcedure.of(
            "lateness",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("lateness")),
            LatenessRow.class,
            this::lateness),
        LocalProcedure.of(
            "refresh_merged",
            List.of(LocalProcedure.required("table")),
            MergedRow.class,
            arguments -> {
              MergedBranchRefresh.Done done =
                  MergedBranchRefresh.run(
                      spark(), tables.load(arguments), spark().defaultParallelism());
              return List.of(new MergedRow(done.snapshotId(), done.sourceId(), done.rows()));
            }),
        LocalProcedure.of(
            "merged_state",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            StateRow.class,
            arguments ->
                List.of(
                    StateRow.of(
                        MergedStates.ofProcess()
                            .of(
                                spark(),
                                tables.load(arguments),
                                arguments.text("branch"),
                                Duration.ZERO)))));
  }

  /** Sets the policy of the table, if one is given, and says which it is. */
  private List<PolicyRow> policy(Arguments arguments) {
    Table table = tables.load(arguments);
    String said = arguments.text("policy");
    CompactionPolicy policy = policy(said, table);
    if (said != null) {
      CertainOperations.of(table)
          .updateProperties()
          .set(CompactionPolicy.PROPERTY, policy.toJson())
          .commit();
    }
    return List.of(new PolicyRow(policy.toJson()));
  }

  /** Sets the lateness that the table allows, if one is given, and says which it is. */
  private List<LatenessRow> lateness(Arguments arguments) {
    Table table = tables.load(arguments);
    KeyedSchema schema = KeyedSchema.of(table);
    String said = arguments.text("lateness");
    if (said != null) {
      UpdateProperties update = CertainOperations.of(table).updateProperties();
      if (said.equalsIgnoreCase(NO_LATENESS)) {
        update.remove(Lateness.PROPERTY);
      } else {
        Lateness.check(Map.of(Lateness.PROPERTY, said), schema.spec(), schema.visible());
        update.set(Lateness.PROPERTY, said);
      }
      update.commit();
    }
    Long head = new CommitLog(table, null).headId();
    Long lateBefore = Lateness.limit(table, schema, head);
    List<DataFile> late =
        head == null
            ? List.of()
            : FileListing.ofAll(table).withoutStatistics().at(head).stream()
                .map(FileScanTask::file)
                .filter(FileMark::isLate)
                .toList();
    return List.of(
        new LatenessRow(
            table.properties().get(Lateness.PROPERTY),
            instant(Watermarks.said(table, head).reached(null)),
            instant(lateBefore == null || lateBefore < FIRST_YEAR ? null : lateBefore),
            late.size(),
            late.stream().mapToLong(DataFile::recordCount).sum(),
            late.stream().mapToLong(DataFile::fileSizeInBytes).sum()));
  }

  private static @Nullable Instant instant(@Nullable Long micros) {
    return micros == null ? null : PointInTime.ofMicros(micros);
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

  private static CompactionPolicy fromJson(String said) {
    if (!said.strip().startsWith("{")) {
      throw new KeylakeException(
          DEFINITION,
          "there is no compaction policy '%s'; use '%s', '%s' or '%s', or give one as a JSON object"
              .formatted(said, FULL, SETTLE, MAINTENANCE));
    }
    return CompactionPolicy.fromJson(said);
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
      default -> fromJson(said);
    };
  }

  private static ChoiceRow row(Choice choice) {
    BucketLayout layout = choice.layout();
    Optional<Compaction> compaction = choice.compaction();
    return new ChoiceRow(
        shown(choice.partition()),
        layout.files(),
        layout.depth(),
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

  private static OutcomeRow row(Outcome outcome) {
    return new OutcomeRow(
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
