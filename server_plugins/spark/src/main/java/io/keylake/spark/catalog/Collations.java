package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableInfo;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Refuses collations of columns. Iceberg's schema has no place for them, so that the column would
 * compare by bytes after all, and two keys that the statement means as one would be two rows.
 */
public final class Collations {
  private static final int BY_BYTES = ((StringType) DataTypes.StringType).collationId();

  private Collations() {}

  /** Checks the columns of a new table, and the table itself. */
  static void check(TableInfo info) {
    checkDefault(info.properties().get(TableCatalog.PROP_COLLATION));
    for (Column column : info.columns()) {
      check(column.name(), column.dataType());
    }
  }

  /**
   * Checks a column.
   *
   * @param column its name, as an error calls it
   */
  public static void check(String column, DataType type) {
    StringType collated = find(type);
    if (collated != null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "column '%s' has a %s, and the columns of a keyed table compare by their bytes; leave COLLATE out, and collate where rows are compared: WHERE %s COLLATE ... = 'x'"
              .formatted(column, collated.typeName(), column));
    }
  }

  /**
   * Checks the collation of all texts of a table.
   *
   * @param name of the collation; null for none
   */
  static void checkDefault(@Nullable String name) {
    if (name != null && !name.equalsIgnoreCase("UTF8_BINARY")) {
      throw new KeylakeException(
          UNSUPPORTED,
          "DEFAULT COLLATION %s is not possible: the columns of a keyed table compare by their bytes; leave it out"
              .formatted(name));
    }
  }

  private static @Nullable StringType find(DataType type) {
    if (type instanceof StringType text) {
      return text.collationId() == BY_BYTES ? null : text;
    }
    if (type instanceof ArrayType list) {
      return find(list.elementType());
    }
    if (type instanceof MapType map) {
      StringType key = find(map.keyType());
      return key == null ? find(map.valueType()) : key;
    }
    if (type instanceof StructType struct) {
      for (StructField field : struct.fields()) {
        StringType found = find(field.dataType());
        if (found != null) {
          return found;
        }
      }
    }
    return null;
  }
}
