package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.VERSION_MISSING;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.write.request.CheckedCast;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Cast;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.CurrentDate;
import org.apache.spark.sql.catalyst.expressions.CurrentTimestamp;
import org.apache.spark.sql.catalyst.expressions.DateFromUnixDate;
import org.apache.spark.sql.catalyst.expressions.EvalMode;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GetStructField;
import org.apache.spark.sql.catalyst.expressions.Greatest;
import org.apache.spark.sql.catalyst.expressions.If;
import org.apache.spark.sql.catalyst.expressions.LessThan;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.LocalTimestamp;
import org.apache.spark.sql.catalyst.expressions.PreciseTimestampConversion;
import org.apache.spark.sql.catalyst.expressions.UnixDate;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;
import scala.Option;

/**
 * The versions of the rows that UPDATE, DELETE and MERGE write. None of them can lose against the
 * row that the statement has read:
 *
 * <ol>
 *   <li>Versions are commit times: nothing is said, a later commit wins.
 *   <li>The statement sets the ordering column: that is the version. It is an error at run time if
 *       the row that was read has a newer one.
 *   <li>Else the statement has a version: the setting {@value SessionSettings#VERSION} of the
 *       session. Without it, the time of the statement, if the ordering column is a timestamp or a
 *       date. A table with another ordering column, or with explicit versions, needs the setting.
 *   <li>A row gets the version of the statement or the newest version of the row that was read,
 *       whichever is newer; at equal versions the later commit wins.
 * </ol>
 */
public final class StatementVersions {
  private final StatementTarget target;
  private final KeyedSchema schema;
  private final DataType type;

  public StatementVersions(StatementTarget target) {
    this.target = target;
    this.schema = target.table().keyed();
    NestedField ordering = schema.ordering();
    this.type = ordering == null ? DataTypes.LongType : ColumnTypes.spark(ordering);
  }

  public boolean areGiven() {
    return schema.spec().versions() != Versions.COMMIT;
  }

  /** The newest version of a row of the target; null where there is no such row. */
  public Expression newest() {
    Attribute info = target.column(KeyedSchema.MERGE_INFO);
    int version = ((StructType) info.dataType()).fieldIndex(schema.version().name());
    Expression stored = new GetStructField(info, version, Option.apply(schema.version().name()));
    // It is null where the ordering column says it.
    return schema.ordering() == null
        ? stored
        : new Coalesce(
            Columns.seq(List.of(stored, number(target.column(schema.ordering().name())))));
  }

  /**
   * The version of a row for which the statement does not say one.
   *
   * @param newest of the row that was read
   */
  public Expression atLeast(Expression newest) {
    return new Greatest(Columns.seq(List.of(ofStatement(), newest)));
  }

  /**
   * The value that a statement gives to the ordering column, or an error where it is too old.
   *
   * @param newest of the row that was read
   * @param key of the row
   */
  public Expression checked(
      Expression ordering, Expression newest, List<? extends Expression> key) {
    List<Object> parts =
        new ArrayList<>(
            List.of(
                "the statement sets the ordering column '" + schema.spec().ordering() + "' to "));
    parts.add(text(ordering));
    parts.add(" in the row with key (");
    for (int i = 0; i < key.size(); i++) {
      if (i > 0) {
        parts.add(", ");
      }
      parts.add(text(key.get(i)));
    }
    parts.add("), which has the newer version ");
    parts.add(text(value(newest)));
    parts.add(" and would stay as it is; set it to that or later, or leave it out");
    Expression refusal = CheckedCast.refusal(BAD_ROWS, type, parts);
    return new If(new LessThan(number(ordering), newest), refusal, ordering);
  }

  /** The version that the statement has for all of its rows. */
  Expression ofStatement() {
    String said = SessionSettings.value(SessionSettings.VERSION);
    if (said != null) {
      return ofSetting(said);
    }
    if (type instanceof TimestampType) {
      return number(new CurrentTimestamp());
    }
    if (type instanceof TimestampNTZType) {
      return number(new LocalTimestamp(Option.apply(SessionSettings.timeZone())));
    }
    if (type instanceof DateType) {
      return number(new CurrentDate(Option.apply(SessionSettings.timeZone())));
    }
    throw new KeylakeException(
        VERSION_MISSING,
        "the statement needs a version, because %s; SET %s = <a whole number>, and run it again"
            .formatted(reason(), SessionSettings.VERSION));
  }

  private String reason() {
    NestedField ordering = schema.ordering();
    return ordering == null
        ? "versions of table %s are explicit".formatted(target.table().name())
        : "it does not set '%s', the ordering column of table %s, and a whole number is no time"
            .formatted(ordering.name(), target.table().name());
  }

  private Expression ofSetting(String said) {
    DataType wanted = type.equals(DataTypes.IntegerType) ? DataTypes.LongType : type;
    Object value =
        new Cast(
                Literal.create(said.strip(), DataTypes.StringType),
                wanted,
                Option.apply(SessionSettings.timeZone()),
                EvalMode.TRY())
            .eval(null);
    if (value == null) {
      throw new KeylakeException(
          VERSION_MISSING,
          "%s is '%s', and versions of table %s are of type %s; set it to a value of that type"
              .formatted(
                  SessionSettings.VERSION, said, target.table().name(), ColumnTypes.word(wanted)));
    }
    return Literal.create(((Number) value).longValue(), DataTypes.LongType);
  }

  /** A value of the ordering column as a version. */
  Expression number(Expression value) {
    if (type instanceof DateType) {
      return cast(new UnixDate(value), DataTypes.LongType);
    }
    return isTime(type)
        ? new PreciseTimestampConversion(value, type, DataTypes.LongType)
        : cast(value, DataTypes.LongType);
  }

  /** A version as a value of the ordering column, to be shown. */
  private Expression value(Expression version) {
    if (type instanceof DateType) {
      return new DateFromUnixDate(cast(version, DataTypes.IntegerType));
    }
    return isTime(type)
        ? new PreciseTimestampConversion(version, DataTypes.LongType, type)
        : version;
  }

  private static Expression text(Expression value) {
    return cast(value, DataTypes.StringType);
  }

  private static boolean isTime(DataType type) {
    return type instanceof TimestampType || type instanceof TimestampNTZType;
  }

  private static Expression cast(Expression value, DataType type) {
    return value.dataType().equals(type)
        ? value
        : new Cast(value, type, Option.apply(SessionSettings.timeZone()), EvalMode.LEGACY());
  }
}
