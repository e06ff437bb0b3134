package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.read.scan.StatementRead;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.isolation.Retries;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * Runs a statement again that has lost against commits of others:
 *
 * <ol>
 *   <li>The statement is remembered as it was said, before a name in it was resolved: by what holds
 *       its table, and then by the table that it reads and writes.
 *   <li>It is planned anew, and so reads the newest snapshot. The write that lost has deleted its
 *       files and is not part of the table, so nothing is applied twice.
 *   <li>It is not run again where that could write something else than the statement says: where a
 *       value or the source is not deterministic, and where rows of the source were computed by an
 *       earlier step, such as the batch of a stream.
 * </ol>
 *
 * @param statement with all that stands around it, such as WITH
 * @param target the mention of the table that it changes
 * @param hindrance why it is not run again; null where it is
 * @param retries how often it is, at most
 */
record Rerun(
    LogicalPlan statement, DataSourceV2Relation target, @Nullable String hindrance, int retries) {

  /** The run of the write that a statement has become; null for other writes. */
  static @Nullable Rerun of(SparkPlan write) {
    return write.logicalLink().isDefined()
            && write.logicalLink().get() instanceof AppendData append
            && append.table() instanceof DataSourceV2Relation target
            && target.table() instanceof KeyedTable table
        ? of(target, table, table.statement())
        : null;
  }

  private static @Nullable Rerun of(
      DataSourceV2Relation target, KeyedTable table, @Nullable StatementRead read) {
    LogicalPlan plan = read == null ? null : read.original().plan();
    return read == null || plan == null
        ? null
        : new Rerun(
            plan, target, read.original().hindrance(), Retries.of(table.table().properties()));
  }

  boolean isAllowed(int runs) {
    return hindrance == null && runs <= retries;
  }

  /** The statement, planned upon what is there now. */
  SparkPlan planned() {
    Option<Identifier> name = target.identifier();
    if (name.isDefined()) {
      ((TableCatalog) target.catalog().get()).invalidateTable(name.get());
    }
    return ClassicSession.active().planned(statement);
  }

  /** The text that plans show. */
  @Override
  public String toString() {
    return hindrance == null
        ? "(retries: %d)".formatted(retries)
        : "(no retries: " + hindrance + ")";
  }

  /** The error of the last run. */
  KeylakeException lost(KeylakeException conflict, int runs) {
    String why =
        hindrance == null
            ? "%s is %d".formatted(Retries.PROPERTY, retries)
            : "it is not run again by itself, because " + hindrance;
    KeylakeException lost =
        new KeylakeException(
            COMMIT_CONFLICT,
            "%s; it was run %s (%s)"
                .formatted(conflict.sentence(), runs == 1 ? "once" : runs + " times", why));
    lost.initCause(conflict);
    return lost;
  }
}
