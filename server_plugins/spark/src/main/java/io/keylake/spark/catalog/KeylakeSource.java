package io.keylake.spark.catalog;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.util.Map;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.connector.catalog.TableProvider;
import org.apache.spark.sql.connector.expressions.Transform;
import org.apache.spark.sql.sources.DataSourceRegister;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;

/**
 * The word {@code keylake} as a format, as in {@code
 * frame.write.format("keylake").saveAsTable("lake.ns.t")}. Tables have names in a catalog; there is
 * none that a path or options could open.
 */
public final class KeylakeSource implements TableProvider, DataSourceRegister {
  @Override
  public String shortName() {
    return SqlDefinition.PROVIDER;
  }

  @Override
  public StructType inferSchema(CaseInsensitiveStringMap options) {
    throw noTable();
  }

  @Override
  public Table getTable(
      StructType schema, Transform[] partitioning, Map<String, String> properties) {
    throw noTable();
  }

  private static KeylakeException noTable() {
    return new KeylakeException(
        UNSUPPORTED,
        "format 'keylake' opens nothing by path or options; name the table with its catalog: spark.table(\"lake.ns.t\"), or write.saveAsTable(\"lake.ns.t\")");
  }
}
