package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.execution.command.CreateTableLikeCommand;

/**
 * Makes CREATE TABLE a LIKE b a call of our own where b is a keyed table. Spark has that statement
 * for its session catalog only, and takes names without a catalog: they are of the current one.
 */
public final class CreateLikeRule extends Rule<LogicalPlan> {
  private final SparkSession session;

  public CreateLikeRule(SparkSession session) {
    this.session = session;
  }

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan instanceof CreateTableLikeCommand create && isKeyed(parts(create.sourceTable()))
        ? call(create)
        : plan;
  }

  private CatalogManager catalogs() {
    return ClassicSession.of(session).catalogs();
  }

  private List<String> parts(org.apache.spark.sql.catalyst.TableIdentifier name) {
    List<String> parts = new ArrayList<>();
    if (name.database().isDefined()) {
      parts.add(name.database().get());
    } else {
      parts.addAll(Arrays.asList(catalogs().currentNamespace()));
    }
    parts.add(name.table());
    return parts;
  }

  private boolean isKeyed(List<String> name) {
    if (!(catalogs().currentCatalog() instanceof KeyedCatalog ours) || name.size() < 2) {
      return false;
    }
    try {
      return KeyedSchema.isKeyed(
          ours.icebergCatalog().loadTable(TableIdentifier.of(name.toArray(String[]::new))));
    } catch (NoSuchTableException e) {
      return false; // Spark says so itself
    }
  }

  private LogicalPlan call(CreateTableLikeCommand create) {
    if (create.provider().isDefined()
        || create.properties().nonEmpty()
        || create.fileFormat().locationUri().isDefined()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "CREATE TABLE %s LIKE a keyed table takes its whole definition; leave USING, TBLPROPERTIES and LOCATION out, or change what SHOW CREATE TABLE gives"
              .formatted(create.targetTable().table()));
    }
    return ClassicSession.of(session)
        .parsed(
            "CALL %s.system.create_table_like(table => %s, like => %s, if_not_exists => %s)"
                .formatted(
                    QuotingUtils.quoteIdentifier(catalogs().currentCatalog().name()),
                    literal(parts(create.targetTable())),
                    literal(parts(create.sourceTable())),
                    create.ifNotExists()));
  }

  /** The name of a table as a string of SQL. */
  private static String literal(List<String> parts) {
    String name =
        parts.stream().map(QuotingUtils::quoteIdentifier).collect(Collectors.joining("."));
    return "'" + name.replace("\\", "\\\\").replace("'", "\\'") + "'";
  }
}
