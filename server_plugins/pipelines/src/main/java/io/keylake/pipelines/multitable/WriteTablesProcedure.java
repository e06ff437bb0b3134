package io.keylake.pipelines.multitable;

import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.procedures.LocalProcedure;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.SpecJson;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** {@code write_tables}: rows of many tables, written by one job and committed table by table. */
public final class WriteTablesProcedure {
  private static final StructType RESULT =
      new StructType()
          .add("table", DataTypes.StringType)
          .add("snapshot_id", DataTypes.LongType)
          .add("rows", DataTypes.LongType)
          .add("min_version", DataTypes.LongType)
          .add("max_version", DataTypes.LongType)
          .add("goes_on", DataTypes.StringType)
          .add("failure", DataTypes.StringType);

  private WriteTablesProcedure() {}

  /**
   * @param tables that rows may name
   */
  public static LocalProcedure of(CatalogTables tables) {
    return new LocalProcedure(
        "write_tables",
        List.of(
            LocalProcedure.required("rows"),
            LocalProcedure.optionalTexts("tables"),
            LocalProcedure.optionalNumber("count")),
        RESULT,
        arguments -> write(tables, arguments));
  }

  private static List<InternalRow> write(CatalogTables tables, LocalProcedure.Arguments arguments) {
    SparkSession spark = SparkSession.active();
    List<TableOutcome> outcomes =
        new TablesWrite(spark, tables::load)
            .write(
                spark.table(QuotingUtils.quoteIdentifier(arguments.requiredText("rows"))),
                arguments.texts("tables").stream().map(TableBatch::of).toList(),
                arguments.number("count"));
    outcomes.stream()
        .filter(outcome -> outcome.commit() != null)
        .forEach(outcome -> tables.hasChanged(outcome.table()));
    return outcomes.stream().map(WriteTablesProcedure::row).toList();
  }

  private static InternalRow row(TableOutcome outcome) {
    CommitLog.Entry commit = outcome.commit();
    return commit == null
        ? LocalProcedure.row(outcome.table(), null, null, null, null, null, outcome.failure())
        : LocalProcedure.row(
            outcome.table(),
            commit.snapshotId(),
            commit.rows(),
            commit.minVersion(),
            commit.maxVersion(),
            outcome.goesOn() == null ? null : SpecJson.write(outcome.goesOn()),
            null);
  }
}
