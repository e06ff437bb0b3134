package io.keylake.spark.table;

import java.util.Arrays;
import org.apache.spark.sql.connector.catalog.CatalogV2Util;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** The columns of a table with their defaults, as statements show them. */
final class ShownColumns {
  private ShownColumns() {}

  static Column[] of(StructType schema) {
    StructField[] columns =
        Arrays.stream(schema.fields()).map(ShownColumns::shown).toArray(StructField[]::new);
    return CatalogV2Util.structTypeToV2Columns(new StructType(columns));
  }

  /** Rows that are there have no default; Spark shows that of later rows only beside theirs. */
  private static StructField shown(StructField column) {
    return column.getCurrentDefaultValue().isDefined()
        ? column.withExistenceDefaultValue("NULL")
        : column;
  }
}
