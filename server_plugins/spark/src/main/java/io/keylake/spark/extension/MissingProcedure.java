package io.keylake.spark.extension;

import io.keylake.tables.KeylakeException;
import java.util.function.Supplier;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.StructType;

/**
 * A procedure that the server does not have: that of a guest, or a misspelt one. It refuses each
 * call when Spark binds it: what is thrown earlier, while Spark looks for it, comes to the caller
 * without its condition.
 */
public record MissingProcedure(String name, Supplier<KeylakeException> refusal)
    implements UnboundProcedure {
  @Override
  public String description() {
    return refusal.get().sentence();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    throw refusal.get();
  }
}
