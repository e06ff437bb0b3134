package io.keylake.spark.reducers.functions;

import java.io.Serializable;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.jspecify.annotations.Nullable;

/** A function of values that are not null: of a null it gives null. */
final class ColumnFunction implements ScalarFunction<Object> {
  private static final long serialVersionUID = 1L;

  private final String name;
  private final DataType[] inputs;
  private final DataType result;
  private final Body body;

  /** The computation of the function's value from its arguments, none of which is null. */
  @FunctionalInterface
  interface Body extends Serializable {
    @Nullable Object of(InternalRow arguments);
  }

  ColumnFunction(String name, DataType result, Body body, DataType... inputs) {
    this.name = name;
    this.inputs = inputs;
    this.result = result;
    this.body = body;
  }

  @Override
  public DataType[] inputTypes() {
    return inputs;
  }

  @Override
  public DataType resultType() {
    return result;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String canonicalName() {
    StringBuilder types = new StringBuilder();
    for (DataType input : inputs) {
      types.append(' ').append(input.catalogString());
    }
    return "keylake." + name + types;
  }

  @Override
  public @Nullable Object produceResult(InternalRow arguments) {
    for (int i = 0; i < inputs.length; i++) {
      if (arguments.isNullAt(i)) {
        return null;
      }
    }
    return body.of(arguments);
  }
}
