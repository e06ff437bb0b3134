package io.keylake.spark.catalog;

import java.util.Iterator;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** A procedure with something else around each of its calls, or in their place. */
public record AroundProcedure(UnboundProcedure unbound, Around around) implements UnboundProcedure {

  /** The action in the place of a call; it may call the procedure itself. */
  @FunctionalInterface
  public interface Around {
    Iterator<Scan> call(BoundProcedure procedure, InternalRow input);
  }

  /** The text of an argument; null where a call does not give it, or the procedure has none. */
  public static @Nullable String text(BoundProcedure procedure, InternalRow input, String name) {
    ProcedureParameter[] parameters = procedure.parameters();
    for (int i = 0; i < parameters.length; i++) {
      if (parameters[i].name().equals(name)) {
        boolean isText = parameters[i].dataType() instanceof StringType;
        return isText && !input.isNullAt(i) ? input.getUTF8String(i).toString() : null;
      }
    }
    return null;
  }

  @Override
  public String name() {
    return unbound.name();
  }

  @Override
  public String description() {
    return unbound.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return new Bound(unbound.bind(inputType), around);
  }

  private record Bound(BoundProcedure bound, Around around) implements BoundProcedure {
    @Override
    public String name() {
      return bound.name();
    }

    @Override
    public String description() {
      return bound.description();
    }

    @Override
    public ProcedureParameter[] parameters() {
      return bound.parameters();
    }

    @Override
    public boolean isDeterministic() {
      return bound.isDeterministic();
    }

    @Override
    public Iterator<Scan> call(InternalRow input) {
      return around.call(bound, input);
    }
  }
}
