package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import scala.jdk.javaapi.CollectionConverters;

/** A procedure whose answer is computed on the driver. */
record LocalProcedure(
    String name,
    List<ProcedureParameter> in,
    StructType result,
    Function<LocalProcedure.Arguments, List<InternalRow>> body)
    implements UnboundProcedure, BoundProcedure {

  /** The arguments of one call, by name. */
  record Arguments(List<ProcedureParameter> in, InternalRow values) {
    /** Null where it was not given. */
    String text(String name) {
      int position = position(name);
      return values.isNullAt(position) ? null : values.getUTF8String(position).toString();
    }

    /** Null where it was not given. */
    Long number(String name) {
      int position = position(name);
      return values.isNullAt(position) ? null : Long.valueOf(values.getLong(position));
    }

    /** The parts of a name, which may be quoted with backticks. */
    List<String> identifier(String name) {
      String text = text(name);
      try {
        return CollectionConverters.asJava(
            SparkSession.active()
                .sessionState()
                .sqlParser()
                .parseMultipartIdentifier(text == null ? "" : text));
      } catch (ParseException e) {
        throw new KeylakeException(
            DEFINITION,
            "'%s' is not a table name; write namespace.name, with backticks around parts that have other characters"
                .formatted(text));
      }
    }

    private int position(String name) {
      for (int i = 0; i < in.size(); i++) {
        if (in.get(i).name().equals(name)) {
          return i;
        }
      }
      throw new IllegalArgumentException(name);
    }
  }

  static ProcedureParameter requiredNumber(String name) {
    return ProcedureParameter.in(name, DataTypes.LongType).build();
  }

  static ProcedureParameter required(String name) {
    return ProcedureParameter.in(name, DataTypes.StringType).build();
  }

  static ProcedureParameter optional(String name) {
    return ProcedureParameter.in(name, DataTypes.StringType).defaultValue("NULL").build();
  }

  static ProcedureParameter optionalNumber(String name) {
    return ProcedureParameter.in(name, DataTypes.LongType).defaultValue("NULL").build();
  }

  /** A row of Java values: text and lists of text become Spark's own. */
  static InternalRow row(Object... values) {
    Object[] internal = new Object[values.length];
    for (int i = 0; i < values.length; i++) {
      internal[i] = internal(values[i]);
    }
    return new GenericInternalRow(internal);
  }

  private static Object internal(Object value) {
    if (value instanceof Collection<?> list) {
      return new GenericArrayData(list.stream().map(LocalProcedure::internal).toArray());
    }
    return value instanceof String text ? UTF8String.fromString(text) : value;
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return this;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return in.toArray(ProcedureParameter[]::new);
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    InternalRow[] rows = body.apply(new Arguments(in, input)).toArray(InternalRow[]::new);
    LocalScan scan =
        new LocalScan() {
          @Override
          public InternalRow[] rows() {
            return rows;
          }

          @Override
          public StructType readSchema() {
            return result;
          }
        };
    return List.<Scan>of(scan).iterator();
  }
}
