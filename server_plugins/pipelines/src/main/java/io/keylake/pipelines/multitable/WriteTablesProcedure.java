package io.keylake.pipelines.multitable;

import io.keylake.spark.access.ServerWork;
import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.procedures.LocalProcedure;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.SpecJson;
import java.util.List;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.jspecify.annotations.Nullable;

/** {@code write_tables}: rows of many tables, written at once and committed table by table. */
public final class WriteTablesProcedure {
  /** The outcome of the rows of a table; no commit where there were none, or where it failed. */
  private record OutcomeRow(
      String table,
      @Nullable Long snapshotId,
      @Nullable Long rows,
      @Nullable Long minVersion,
      @Nullable Long maxVersion,
      @Nullable String goesOn,
      @Nullable String failure,
      @Nullable Long heldRows,
      @Nullable Long lateRows) {}

  private WriteTablesProcedure() {}

  /**
   * @param tables that rows may name
   */
  public static LocalProcedure of(CatalogTables tables) {
    return LocalProcedure.of(
        "write_tables",
        List.of(
            LocalProcedure.required("rows"),
            LocalProcedure.optionalTexts("tables"),
            LocalProcedure.optionalNumber("count")),
        OutcomeRow.class,
        arguments -> write(tables, arguments));
  }

  private static List<OutcomeRow> write(CatalogTables tables, LocalProcedure.Arguments arguments) {
    SparkSession spark = SparkSession.active();
    List<TableOutcome> outcomes =
        new TablesWrite(spark, tables::load)
            .write(
                ServerWork.asCaller(
                    () ->
                        spark.table(QuotingUtils.quoteIdentifier(arguments.requiredText("rows")))),
                arguments.texts("tables").stream().map(TableBatch::of).toList(),
                arguments.number("count"));
    outcomes.stream()
        .filter(outcome -> outcome.commit() != null)
        .forEach(outcome -> tables.hasChanged(outcome.table()));
    return outcomes.stream().map(WriteTablesProcedure::row).toList();
  }

  private static OutcomeRow row(TableOutcome outcome) {
    CommitLog.Entry commit = outcome.commit();
    return commit == null
        ? new OutcomeRow(
            outcome.table(), null, null, null, null, null, outcome.failure(), null, null)
        : new OutcomeRow(
            outcome.table(),
            commit.snapshotId(),
            commit.rows(),
            commit.minVersion(),
            commit.maxVersion(),
            outcome.goesOn() == null ? null : SpecJson.write(outcome.goesOn()),
            null,
            commit.heldRows(),
            commit.lateRows());
  }
}
