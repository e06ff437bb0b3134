package io.keylake.spark.explain;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.metadata.LocalRows;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.KeylakeException;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.IntegralType;
import org.apache.spark.sql.types.NullType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/**
 * Explains the row of a key. The key is a struct, whose type is that of the call: {@code key =>
 * named_struct('user_id', 7)}; {@code at} is a snapshot id, the name of a tag or branch, or a
 * timestamp.
 */
public record ExplainProcedure(Tables tables) implements UnboundProcedure {
  private static final String NAME = "explain_row";
  private static final int KEY = 1;
  private static final int AT = 3;

  /** Finds the table that the arguments {@code table}, {@code branch} and {@code at} name. */
  public interface Tables {
    KeyedTable read(String procedure, List<ProcedureParameter> in, InternalRow values);
  }

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "(table STRING, key STRUCT<the columns of the key>, branch STRING DEFAULT NULL, at BIGINT or STRING or TIMESTAMP DEFAULT NULL) returns lines about the row and each of its columns";
  }

  @Override
  public BoundProcedure bind(StructType said) {
    DataType key = given(said, "key", KEY, new StructType());
    DataType at = given(said, "at", AT, DataTypes.LongType);
    if (!(key instanceof StructType)) {
      throw new KeylakeException(
          DEFINITION,
          "argument 'key' of explain_row is %s; write named_struct('<column>', <value>, ...)"
              .formatted(key.simpleString()));
    }
    return new Bound(
        tables,
        List.of(
            ProcedureParameter.in("table", DataTypes.StringType).build(),
            ProcedureParameter.in("key", key).build(),
            ProcedureParameter.in("branch", DataTypes.StringType).defaultValue("NULL").build(),
            ProcedureParameter.in("at", moment(at)).defaultValue("NULL").build()));
  }

  /** The type of an argument, which is given by its name or at its place. */
  private static DataType given(StructType said, String name, int place, DataType otherwise) {
    for (int i = 0; i < said.length(); i++) {
      StructField field = said.fields()[i];
      boolean isNamed = field.metadata().contains(ProcedureParameter.BY_NAME_METADATA_KEY);
      if (isNamed ? field.name().equalsIgnoreCase(name) : i == place) {
        return field.dataType();
      }
    }
    return otherwise;
  }

  /** Spark casts what is given, or refuses it. */
  private static DataType moment(DataType given) {
    boolean isId = given instanceof IntegralType || given instanceof NullType;
    return isId
        ? DataTypes.LongType
        : given instanceof StringType ? given : DataTypes.TimestampType;
  }

  /** The procedure with the types of one call. */
  private record Bound(Tables tables, List<ProcedureParameter> in) implements BoundProcedure {
    @Override
    public String name() {
      return NAME;
    }

    @Override
    public String description() {
      return new ExplainProcedure(tables).description();
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
      if (input.isNullAt(KEY)) {
        throw new KeylakeException(
            DEFINITION, "argument 'key' of the procedure is NULL; give it a value");
      }
      StructType key = (StructType) in.get(KEY).dataType();
      KeyedTable table = tables.read(NAME, in, input);
      ExplainedRow.Lines lines = ExplainedRow.of(table, key, input.getStruct(KEY, key.size()));
      return List.<Scan>of(new LocalRows(NAME, lines.type(), lines::rows)).iterator();
    }
  }
}
