package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.plans.logical.AddPartitionField;
import org.apache.spark.sql.catalyst.plans.logical.DropIdentifierFields;
import org.apache.spark.sql.catalyst.plans.logical.DropPartitionField;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.ReplacePartitionField;
import org.apache.spark.sql.catalyst.plans.logical.SetIdentifierFields;
import org.apache.spark.sql.catalyst.plans.logical.SetWriteDistributionAndOrdering;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Refuses Iceberg's statements that change how rows of a keyed table are partitioned, sorted or
 * identified: its spec says that, and its files are read by it.
 */
public final class TableChangeRule extends Rule<LogicalPlan> {
  private final SparkSession session;

  public TableChangeRule(SparkSession session) {
    this.session = session;
  }

  /** A change that a statement would make to a table, and the advice that its refusal gives. */
  private record Change(Seq<String> table, String what, String instead) {}

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    Change change = change(plan);
    if (change != null && isKeyed(change.table())) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the %s of keyed table %s cannot be changed; %s"
              .formatted(change.what(), change.table().mkString("."), change.instead()));
    }
    return plan;
  }

  private static @Nullable Change change(LogicalPlan plan) {
    String partitions = "partitioning";
    String instead =
        "change the number of buckets with change_buckets, or create a new table with other partition_by";
    if (plan instanceof AddPartitionField add) {
      return new Change(add.table(), partitions, instead);
    }
    if (plan instanceof DropPartitionField drop) {
      return new Change(drop.table(), partitions, instead);
    }
    if (plan instanceof ReplacePartitionField replace) {
      return new Change(replace.table(), partitions, instead);
    }
    if (plan instanceof SetWriteDistributionAndOrdering order) {
      return new Change(
          order.table(), "sort order", "its files are always sorted by key, so leave it as it is");
    }
    String newTable = "create a new table with another key and copy the rows";
    if (plan instanceof SetIdentifierFields set) {
      return new Change(set.table(), "key", newTable);
    }
    return plan instanceof DropIdentifierFields drop
        ? new Change(drop.table(), "key", newTable)
        : null;
  }

  private boolean isKeyed(Seq<String> name) {
    List<String> parts = new ArrayList<>(CollectionConverters.asJava(name));
    CatalogManager catalogs = ClassicSession.of(session).catalogs();
    boolean hasCatalog = parts.size() > 1 && catalogs.isCatalogRegistered(parts.get(0));
    if (parts.size() == 1) {
      parts.addAll(0, Arrays.asList(catalogs.currentNamespace()));
    }
    Object catalog =
        hasCatalog ? catalogs.catalog(parts.remove(0)) : (Object) catalogs.currentCatalog();
    if (!(catalog instanceof KeyedCatalog ours)) {
      return false;
    }
    try {
      return KeyedSchema.isKeyed(
          ours.icebergCatalog().loadTable(TableIdentifier.of(parts.toArray(String[]::new))));
    } catch (NoSuchTableException e) {
      return false; // Spark says so itself
    }
  }
}
