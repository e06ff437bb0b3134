package io.keylake.spark.procedures;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.storage.Housekeeping;
import io.keylake.tables.storage.Retained;
import java.time.Instant;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The procedures about what of a table's past is kept, and the removal of the rest. */
final class HousekeepingProcedures {
  private static final StructType DONE =
      new StructType()
          .add("snapshots_expired", DataTypes.LongType)
          .add("files_deleted", DataTypes.LongType)
          .add("orphans_deleted", DataTypes.LongType)
          .add("manifests_rewritten", DataTypes.BooleanType)
          .add("states_dropped", DataTypes.LongType)
          .add("orphans_left_because", DataTypes.StringType)
          .add("metadata_files_deleted", DataTypes.LongType);

  private static final StructType RETAINED =
      new StructType()
          .add("snapshots", DataTypes.LongType)
          .add("expirable", DataTypes.LongType)
          .add("held_by_consumers", DataTypes.LongType)
          .add("slowest_consumer", DataTypes.StringType)
          .add("metadata_files", DataTypes.LongType)
          .add("old_metadata_files", DataTypes.LongType)
          .add("metadata_bytes", DataTypes.LongType)
          .add("newest_metadata_bytes", DataTypes.LongType);

  private final TableArgument tables;

  HousekeepingProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    List<ProcedureParameter> in =
        List.of(LocalProcedure.required("table"), LocalProcedure.optional("policy"));
    return List.of(
        new LocalProcedure(
            "retention_policy",
            in,
            new StructType().add("policy", DataTypes.StringType),
            this::policy),
        new LocalProcedure("clean", in, DONE, this::clean),
        new LocalProcedure(
            "retained", List.of(LocalProcedure.required("table")), RETAINED, this::retained));
  }

  /** Sets the policy of the table, if one is given, and says which it is. */
  private List<InternalRow> policy(Arguments arguments) {
    Table table = tables.load(arguments);
    RetentionPolicy policy = policy(arguments, table);
    if (arguments.text("policy") != null) {
      CertainOperations.of(table)
          .updateProperties()
          .set(RetentionPolicy.PROPERTY, policy.toJson())
          .commit();
    }
    return List.of(LocalProcedure.row(policy.toJson()));
  }

  private List<InternalRow> clean(Arguments arguments) {
    Table table = tables.load(arguments);
    Housekeeping.Done done = Housekeeping.run(table, policy(arguments, table), Instant.now());
    return List.of(
        LocalProcedure.row(
            done.snapshots(),
            done.files(),
            done.orphans(),
            done.hasNewManifests(),
            (long) done.states(),
            done.orphansLeft(),
            done.metadataFiles()));
  }

  private List<InternalRow> retained(Arguments arguments) {
    Retained retained = Retained.of(tables.load(arguments), Instant.now());
    return List.of(
        LocalProcedure.row(
            (long) retained.snapshots(),
            (long) retained.expirable(),
            (long) retained.held(),
            retained.heldBy(),
            (long) retained.metadataFiles(),
            (long) retained.oldMetadataFiles(),
            retained.metadataBytes(),
            retained.newestBytes()));
  }

  private static RetentionPolicy policy(Arguments arguments, Table table) {
    String said = arguments.text("policy");
    return said == null ? RetentionPolicy.of(table) : RetentionPolicy.fromJson(said);
  }
}
