package io.keylake.spark.preparation;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.keys.BucketExpression;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.keys.GroupExpression;
import io.keylake.spark.statements.Columns;
import io.keylake.spark.write.request.CheckedCast;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.request.WriteShape;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a frame as they go to the writer:
 *
 * <ol>
 *   <li>Columns are matched with the table's; those the frame lacks stay absent.
 *   <li>Values are brought to the table's types, or refused where that would change them.
 *   <li>The bucket is computed and what options name travels along.
 * </ol>
 */
record PreparedRows(KeyedSchema schema, WriteOptions options) {

  /** The rows of a frame that has columns of the table by their names. */
  Project byName(LogicalPlan frame) {
    return prepared(frame, columns(frame).stream().map(Attribute::name).toList(), CheckedCast::of);
  }

  /** The rows of a frame that has all columns of the table in their order. */
  Project byPosition(LogicalPlan frame) {
    return prepared(frame, inOrder(columns(frame)), CheckedCast::ofPlace);
  }

  private static List<Attribute> columns(LogicalPlan frame) {
    return CollectionConverters.asJava(frame.output());
  }

  /** Brings a column of the frame to a type of the table. */
  private interface Conversion {
    Expression of(Expression value, String column, DataType target);
  }

  private Project prepared(LogicalPlan rows, List<String> names, Conversion conversion) {
    List<Attribute> frame = columns(rows);
    boolean caseSensitive = SessionSettings.isCaseSensitive();
    WriteShape shape = WriteShape.of(names, schema, options, caseSensitive);
    Map<String, Expression> values = new HashMap<>();
    shape
        .columns()
        .forEach(
            (position, field) ->
                values.put(field.name(), value(frame.get(position), field, conversion)));
    List<NamedExpression> columns = new ArrayList<>();
    schema.key().forEach(field -> columns.add(Columns.alias(keyOf(values, field), field.name())));
    for (NestedField field : schema.values()) {
      boolean onlyHelps =
          options.verb() == WriteOptions.Verb.DELETE
              && !field.name().equals(schema.spec().ordering());
      if (values.containsKey(field.name()) && !onlyHelps) {
        columns.add(Columns.alias(values.get(field.name()), field.name()));
      }
    }
    List<Expression> bucketBy = schema.spec().bucketBy().stream().map(values::get).toList();
    columns.add(Columns.alias(BucketExpression.of(schema, bucketBy), KeyedSchema.BUCKET));
    if (schema.hasGroups()) {
      columns.add(Columns.alias(GroupExpression.group(schema, bucketBy), KeyedSchema.GROUP));
    }
    addHelpers(columns, frame, shape);
    Project prepared = Columns.project(columns, rows);
    return options.requirement() == null
        ? prepared
        : RowConditions.of(options.requirement(), schema, prepared).beside(prepared);
  }

  private static Expression keyOf(Map<String, Expression> values, NestedField field) {
    return Objects.requireNonNull(values.get(field.name()), "a frame without its key is refused");
  }

  /** A uuid is text to Spark; in lower case its order is that of its bytes. */
  private static Expression value(Attribute given, NestedField field, Conversion conversion) {
    Expression value = conversion.of(given, field.name(), ColumnTypes.spark(field));
    return field.type().typeId() == Type.TypeID.UUID ? new Lower(value) : value;
  }

  private List<String> inOrder(List<Attribute> frame) {
    List<String> names = schema.visible().columns().stream().map(NestedField::name).toList();
    if (names.size() != frame.size()) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "the INSERT has %d columns and the table has %d; to write some of them, name them: INSERT INTO t (%s) ..."
              .formatted(
                  frame.size(), names.size(), String.join(", ", schema.spec().key()) + ", ..."));
    }
    return names;
  }

  private void addHelpers(List<NamedExpression> columns, List<Attribute> frame, WriteShape shape) {
    if (options.version() != null) {
      columns.add(
          Columns.alias(
              version(helper(frame, shape, options.version()), options.version()),
              HelperColumn.VERSION));
    }
    options
        .versionOf()
        .forEach(
            (column, source) ->
                columns.add(
                    Columns.alias(
                        version(helper(frame, shape, source), source),
                        HelperColumn.VERSION_OF + column)));
    if (options.columnsFrom() != null) {
      Expression list = helper(frame, shape, options.columnsFrom());
      if (!(list.dataType() instanceof ArrayType array
          && array.elementType() instanceof StringType)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "columns_from names column '%s' of type %s; it must be an array of strings"
                .formatted(options.columnsFrom(), ColumnTypes.word(list.dataType())));
      }
      columns.add(Columns.alias(list, HelperColumn.COLUMNS_FROM));
    }
    if (options.op() != null) {
      Expression op = helper(frame, shape, options.op());
      if (!(op.dataType() instanceof StringType)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "op names column '%s' of type %s; it must be a string"
                .formatted(options.op(), ColumnTypes.word(op.dataType())));
      }
      columns.add(Columns.alias(op, HelperColumn.OP));
    }
    if (options.rowOrder() != null) {
      columns.add(
          Columns.alias(
              CheckedCast.of(
                  helper(frame, shape, options.rowOrder()), options.rowOrder(), DataTypes.LongType),
              HelperColumn.ROW_ORDER));
    }
  }

  private static Expression helper(List<Attribute> frame, WriteShape shape, String name) {
    return frame.get(shape.positionOf(name));
  }

  private static Expression version(Expression value, String column) {
    DataType type = value.dataType();
    boolean isTime =
        type.equals(DataTypes.DateType)
            || type.equals(DataTypes.TimestampType)
            || type.equals(DataTypes.TimestampNTZType);
    boolean isWhole =
        type.equals(DataTypes.ByteType)
            || type.equals(DataTypes.ShortType)
            || type.equals(DataTypes.IntegerType)
            || type.equals(DataTypes.LongType);
    if (!isTime && !isWhole) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "column '%s' is %s, and a version is a whole number (int, long), a date or a timestamp"
              .formatted(column, ColumnTypes.word(type)));
    }
    return isWhole ? CheckedCast.of(value, column, DataTypes.LongType) : value;
  }
}
