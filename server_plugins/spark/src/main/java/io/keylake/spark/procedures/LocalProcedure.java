package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.engine.RowType;
import io.keylake.spark.metadata.LocalRows;
import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/** A procedure whose answer is computed on the driver. */
@GuestApi
public record LocalProcedure(
    String name,
    List<ProcedureParameter> in,
    StructType result,
    Function<LocalProcedure.Arguments, List<InternalRow>> body)
    implements UnboundProcedure, BoundProcedure {

  /** The arguments of one call, by name. */
  public record Arguments(String procedure, List<ProcedureParameter> in, InternalRow values) {
    boolean has(String name) {
      return in.stream().anyMatch(each -> each.name().equals(name));
    }

    boolean isGiven(String name) {
      return !values.isNullAt(position(name));
    }

    DataType type(String name) {
      return in.get(position(name)).dataType();
    }

    /** The argument; null where it was not given. */
    public @Nullable String text(String name) {
      int position = position(name);
      return values.isNullAt(position) ? null : values.getUTF8String(position).toString();
    }

    /** The argument; null where it was not given. */
    public @Nullable Long number(String name) {
      int position = position(name);
      return values.isNullAt(position) ? null : Long.valueOf(values.getLong(position));
    }

    /** The argument as a list; empty where it was not given. */
    public List<String> texts(String name) {
      int position = position(name);
      return values.isNullAt(position)
          ? List.of()
          : Arrays.stream(values.getArray(position).toObjectArray(DataTypes.StringType))
              .map(String::valueOf)
              .toList();
    }

    /** A flag was given, and is true. */
    public boolean isSet(String name) {
      int position = position(name);
      return !values.isNullAt(position) && values.getBoolean(position);
    }

    public String requiredText(String name) {
      return required(name, text(name));
    }

    public long requiredNumber(String name) {
      return required(name, number(name));
    }

    double requiredDecimal(String name) {
      int position = position(name);
      return required(name, values.isNullAt(position) ? null : values.getDouble(position));
    }

    private static <T> T required(String name, @Nullable T value) {
      if (value == null) {
        throw new KeylakeException(
            DEFINITION, "argument '%s' of the procedure is NULL; give it a value".formatted(name));
      }
      return value;
    }

    /** The parts of a name, which may be quoted with backticks. */
    List<String> identifier(String name) {
      return identifierOf(text(name));
    }

    /** The parts of a name that is no argument itself. */
    static List<String> identifierOf(@Nullable String text) {
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

  public static ProcedureParameter requiredNumber(String name) {
    return ProcedureParameter.in(name, DataTypes.LongType).build();
  }

  public static ProcedureParameter required(String name) {
    return ProcedureParameter.in(name, DataTypes.StringType).build();
  }

  public static ProcedureParameter optional(String name) {
    return ProcedureParameter.in(name, DataTypes.StringType).defaultValue("NULL").build();
  }

  public static ProcedureParameter optionalNumber(String name) {
    return ProcedureParameter.in(name, DataTypes.LongType).defaultValue("NULL").build();
  }

  public static ProcedureParameter optionalTexts(String name) {
    return ProcedureParameter.in(name, DataTypes.createArrayType(DataTypes.StringType))
        .defaultValue("NULL")
        .build();
  }

  /**
   * A procedure whose rows are records.
   *
   * @param rows the record that describes their columns
   */
  public static <R extends Record> LocalProcedure of(
      String name,
      List<ProcedureParameter> in,
      Class<R> rows,
      Function<LocalProcedure.Arguments, List<R>> body) {
    RowType<R> type = RowType.of(rows);
    return new LocalProcedure(
        name, in, type.type(), arguments -> body.apply(arguments).stream().map(type::row).toList());
  }

  /** The parameters and the result of the procedure, as text. */
  @Override
  public String description() {
    String parameters =
        in.stream()
            .map(
                each ->
                    each.name()
                        + " "
                        + each.dataType().sql()
                        + (each.defaultValue() == null ? "" : " DEFAULT NULL"))
            .collect(Collectors.joining(", "));
    return "(%s) returns (%s)".formatted(parameters, result.toDDL());
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
    List<InternalRow> rows = body.apply(new Arguments(name, in, input));
    return List.<Scan>of(new LocalRows(name, result, () -> rows)).iterator();
  }
}
