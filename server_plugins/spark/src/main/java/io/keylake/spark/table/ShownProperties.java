package io.keylake.spark.table;

import io.keylake.spark.catalog.KeyedProperties;
import io.keylake.spark.catalog.SqlDefinition;
import io.keylake.tables.spec.SpecProperties;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.connector.catalog.TableCatalog;

/** The properties that SHOW CREATE TABLE puts into a statement that makes the same table. */
final class ShownProperties {
  /** Properties of Iceberg that are not set but follow from the table. */
  private static final Set<String> DERIVED =
      Set.of("format", "current-snapshot-id", "sort-order", "identifier-fields", "table_type");

  private ShownProperties() {}

  static Map<String, String> of(Map<String, String> properties, TableSpec spec) {
    Map<String, String> shown = new HashMap<>(properties);
    shown.keySet().removeIf(ShownProperties::isDerived);
    shown.remove(TableCatalog.PROP_COMMENT, "");
    shown.put(TableCatalog.PROP_PROVIDER, SqlDefinition.PROVIDER);
    // Its place follows from its name; another table cannot take it.
    shown.put(TableCatalog.PROP_IS_MANAGED_LOCATION, "true");
    shown.putAll(SpecProperties.write(spec));
    return shown;
  }

  private static boolean isDerived(String property) {
    return DERIVED.contains(property)
        || KeyedProperties.isInternal(property)
        || SpecProperties.isWord(property); // what it says is that of the spec
  }
}
