package io.keylake.spark.extension;

import io.keylake.tables.GuestApi;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;

/**
 * The tables of the catalog whose procedure is called. Their names are those of SQL, with or
 * without the catalog, and with backticks where a part has other characters.
 */
@GuestApi
public interface CatalogTables {

  /** The table, keyed or plain, as the catalog has it now; refuses a name that no table has. */
  Table load(String name);

  /** Lets what Spark keeps of a table (CACHE TABLE) be read again. */
  void hasChanged(String name);

  /**
   * A condition on the columns of a table as Iceberg has it.
   *
   * @param where in Spark's SQL
   */
  Expression condition(String name, String where);
}
