package io.keylake.spark.guard.plans;

import io.keylake.spark.access.Need;
import io.keylake.spark.access.Right;
import io.keylake.spark.access.SeenNames;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.metadata.MetadataTable;
import io.keylake.spark.metadata.Part;
import io.keylake.spark.table.ChangesTable;
import io.keylake.spark.table.ReadOptionsRule;
import io.keylake.spark.write.request.WriteOptions;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.apache.iceberg.BaseMetadataTable;
import org.apache.iceberg.MetadataTableType;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NamedRelation;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.StagedTable;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.write.RowLevelOperationTable;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;
import scala.Option;

/**
 * A table as rules name it: a branch, a part or a state of a table is the table.
 *
 * @param full the catalog, the namespaces and the table, with dots between
 * @param branch that is read or written; null where a commit, a tag or a time is named
 * @param part the table of metadata beside the table, or its change feed; null for its rows
 */
record TableName(String full, @Nullable String branch, @Nullable String part) {
  /** Parts that have no bounds, partitions or images of rows in them. */
  private static final Set<String> WITHOUT_VALUES =
      Set.of("history", "snapshots", "refs", "metadata_log_entries", "commits", "branches");

  private static final List<String> STATES =
      List.of(
          "tag",
          "snapshot-id",
          "as-of-timestamp",
          "versionAsOf",
          "timestampAsOf",
          "start-snapshot-id",
          "end-snapshot-id",
          "start-timestamp",
          "end-timestamp");

  /** The table behind a relation; null where it is of a catalog that rules do not name. */
  static @Nullable TableName of(NamedRelation named) {
    return named instanceof DataSourceV2Relation relation
        ? of(relation.table(), relation.catalog(), relation.identifier(), relation.options())
        : null;
  }

  static @Nullable TableName of(
      Table table,
      Option<CatalogPlugin> catalog,
      Option<Identifier> identifier,
      CaseInsensitiveStringMap options) {
    if (table instanceof RowLevelOperationTable operation) {
      return of(operation.table(), catalog, identifier, options);
    }
    if (catalog.isEmpty() || identifier.isEmpty() || !(catalog.get() instanceof KeyedCatalog)) {
      return null;
    }
    if (table instanceof StagedTable) {
      return new TableName(full(catalog.get(), identifier.get()), Need.MAIN, null);
    }
    if (!(table instanceof SparkTable loaded)) {
      return beside(table, catalog.get().name(), ReadOptionsRule.withoutMention(identifier.get()));
    }
    if (loaded.table() instanceof BaseMetadataTable metadata) {
      String part =
          ReadOptionsRule.withoutMention(identifier.get()).name().toLowerCase(Locale.ROOT);
      boolean isNamed = MetadataTableType.from(part) != null;
      return new TableName(
          full(catalog.get(), metadata.table().name()), null, isNamed ? part : "metadata");
    }
    return new TableName(
        full(catalog.get(), loaded.table().name()), readBranch(loaded, options), null);
  }

  /** The branch that is read, which an option or a setting of the session may say. */
  private static @Nullable String readBranch(SparkTable loaded, CaseInsensitiveStringMap options) {
    boolean isState = STATES.stream().anyMatch(options::containsKey);
    if (isState || (loaded.branch() == null && loaded.snapshotId() != null)) {
      return null;
    }
    String said =
        SessionSettings.readBranch(SparkSession.active(), loaded.table(), loaded.branch(), options);
    return said == null ? Need.MAIN : said;
  }

  /** The table that is written, at the branch that an option or a setting of the session says. */
  static @Nullable TableName written(
      DataSourceV2Relation target, CaseInsensitiveStringMap options) {
    TableName name =
        of(target.table(), target.catalog(), target.identifier(), CaseInsensitiveStringMap.empty());
    if (name == null || !(target.table() instanceof SparkTable loaded)) {
      return name;
    }
    String said =
        SessionSettings.writeBranch(
            SparkSession.active(), loaded.table(), loaded.branch(), options);
    boolean isOfSeveral = options.containsKey(WriteOptions.BUSINESS_TIME); // archived states, too
    return new TableName(
        name.full(), isOfSeveral ? null : said == null ? Need.MAIN : said, name.part());
  }

  private static TableName beside(Table table, String catalog, Identifier identifier) {
    String part =
        table instanceof ChangesTable
            ? ChangesTable.NAME
            : table instanceof MetadataTable && Part.of(identifier.name()).isPresent()
                ? identifier.name().toLowerCase(Locale.ROOT)
                : "unknown";
    return new TableName(SeenNames.full(catalog, identifier.namespace()), null, part);
  }

  /** The full name of a table; one that is not there yet has none with its catalog. */
  private static String full(CatalogPlugin catalog, String name) {
    return name.startsWith(catalog.name() + ".") ? name : catalog.name() + "." + name;
  }

  /** The full name of a table that need not be there. */
  static String full(CatalogPlugin catalog, Identifier identifier) {
    return SeenNames.full(catalog.name(), identifier.namespace(), identifier.name());
  }

  /** The part shows neither values of columns nor bounds of them. */
  boolean isWithoutValues() {
    return part != null && WITHOUT_VALUES.contains(part);
  }

  Need read(String subject) {
    String said = part == null ? subject : "%s of its table %s".formatted(subject, part);
    return Need.ofBranch(Right.READ, full, branch, said);
  }
}
