package io.keylake.spark.procedures;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.storage.Housekeeping;
import io.keylake.tables.storage.Retained;
import java.time.Instant;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.jspecify.annotations.Nullable;

/** The procedures about what of a table's past is kept, and the removal of the rest. */
final class HousekeepingProcedures {
  /** The removals of a cleaning. */
  private record CleanedRow(
      long snapshotsExpired,
      long filesDeleted,
      long orphansDeleted,
      boolean manifestsRewritten,
      long statesDropped,
      @Nullable String orphansLeftBecause,
      long metadataFilesDeleted) {}

  /** The part of the past of a table that is kept. */
  private record RetainedRow(
      long snapshots,
      long expirable,
      long heldByConsumers,
      @Nullable String slowestConsumer,
      long metadataFiles,
      long oldMetadataFiles,
      long metadataBytes,
      long newestMetadataBytes) {}

  /** The policy of a table, as JSON. */
  private record PolicyRow(String policy) {}

  private final TableArgument tables;

  HousekeepingProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    List<ProcedureParameter> in =
        List.of(LocalProcedure.required("table"), LocalProcedure.optional("policy"));
    return List.of(
        LocalProcedure.of("retention_policy", in, PolicyRow.class, this::policy),
        LocalProcedure.of("clean", in, CleanedRow.class, this::clean),
        LocalProcedure.of(
            "retained",
            List.of(LocalProcedure.required("table")),
            RetainedRow.class,
            this::retained));
  }

  /** Sets the policy of the table, if one is given, and says which it is. */
  private List<PolicyRow> policy(Arguments arguments) {
    Table table = tables.load(arguments);
    RetentionPolicy policy = policy(arguments, table);
    if (arguments.text("policy") != null) {
      CertainOperations.of(table)
          .updateProperties()
          .set(RetentionPolicy.PROPERTY, policy.toJson())
          .commit();
    }
    return List.of(new PolicyRow(policy.toJson()));
  }

  private List<CleanedRow> clean(Arguments arguments) {
    Table table = tables.load(arguments);
    Housekeeping.Done done = Housekeeping.run(table, policy(arguments, table), Instant.now());
    return List.of(
        new CleanedRow(
            done.snapshots(),
            done.files(),
            done.orphans(),
            done.hasNewManifests(),
            done.states(),
            done.orphansLeft(),
            done.metadataFiles()));
  }

  private List<RetainedRow> retained(Arguments arguments) {
    Retained retained = Retained.of(tables.load(arguments), Instant.now());
    return List.of(
        new RetainedRow(
            retained.snapshots(),
            retained.expirable(),
            retained.held(),
            retained.heldBy(),
            retained.metadataFiles(),
            retained.oldMetadataFiles(),
            retained.metadataBytes(),
            retained.newestBytes()));
  }

  private static RetentionPolicy policy(Arguments arguments, Table table) {
    String said = arguments.text("policy");
    return said == null ? RetentionPolicy.of(table) : RetentionPolicy.fromJson(said);
  }
}
