package io.keylake.spark.rules;

import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.keys.BucketExpression;
import io.keylake.spark.keys.ColumnTypes;
import io.keylake.spark.keys.GroupExpression;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.CheckedCast;
import io.keylake.spark.write.HelperColumn;
import io.keylake.spark.write.WriteOptions;
import io.keylake.spark.write.WriteShape;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Lower;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.MergeIntoTable;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.UpdateTable;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StringType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Prepares the rows of every write to a keyed table, wherever it comes from: SQL, a DataFrame or
 * the SDK.
 *
 * <ol>
 *   <li>Columns are matched with the table's; those the frame lacks stay absent, so that an INSERT
 *       of some columns is a partial update.
 *   <li>Values are brought to the table's types, or refused where that would change them.
 *   <li>The bucket is computed and what options name travels along, for the writer.
 * </ol>
 */
public final class KeyedWriteRule extends Rule<LogicalPlan> {

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof V2WriteCommand
                || node instanceof MergeIntoTable
                || node instanceof UpdateTable;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            if (node instanceof V2WriteCommand write) {
              return prepare(write);
            }
            refuse(node);
            return node;
          }
        });
  }

  /** Statements that read rows to change them: a keyed table takes the change itself. */
  private static void refuse(LogicalPlan statement) {
    LogicalPlan target =
        statement instanceof MergeIntoTable merge
            ? merge.targetTable()
            : ((UpdateTable) statement).table();
    if (target.resolved() && target.collectLeaves().exists(leaf -> keyedTable(leaf) != null)) {
      throw new KeylakeException(
          UNSUPPORTED,
          statement instanceof MergeIntoTable
              ? "MERGE INTO a keyed table is not needed and not supported: INSERT INTO t (key, columns...) merges by key"
              : "UPDATE in SQL is not supported on a keyed table: its rows are versioned; use update() of the SDK, or INSERT INTO t (key, columns...)");
    }
  }

  private static @Nullable KeyedTable keyedTable(Object plan) {
    return plan instanceof DataSourceV2Relation relation
            && relation.table() instanceof KeyedTable table
        ? table
        : null;
  }

  private static LogicalPlan prepare(V2WriteCommand write) {
    KeyedTable table = keyedTable(write.table());
    if (table == null || table.rows() != KeyedTable.Rows.AS_GIVEN || !write.query().resolved()) {
      return (LogicalPlan) write;
    }
    if (write instanceof OverwritePartitionsDynamic) {
      throw new KeylakeException(
          UNSUPPORTED,
          "dynamic overwrite of a keyed table is not supported; state the partition to overwrite");
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
    Map<String, String> given = new HashMap<>(relation.options().asCaseSensitiveMap());
    given.putAll(CollectionConverters.asJava(writeOptions(write)));
    KeyedSchema schema = table.keyed();
    WriteOptions options =
        WriteOptions.of(given, unlessSaid(write)).versionedBy(schema.spec().ordering());
    Seq<NamedExpression> columns = columns(write, schema, options);
    DataSourceV2Relation target = table.taking(KeyedTable.Rows.PREPARED).inPlaceOf(relation);
    return (LogicalPlan)
        write.withNewTable(target).withNewQuery(new Project(columns, write.query()));
  }

  private static scala.collection.immutable.Map<String, String> writeOptions(V2WriteCommand write) {
    if (write instanceof AppendData append) {
      return append.writeOptions();
    }
    return write instanceof OverwriteByExpression overwrite
        ? overwrite.writeOptions()
        : Map$.MODULE$.empty();
  }

  static WriteOptions.Verb unlessSaid(V2WriteCommand write) {
    return write instanceof OverwriteByExpression
        ? WriteOptions.Verb.OVERWRITE
        : WriteOptions.Verb.UPDATE;
  }

  private static Seq<NamedExpression> columns(
      V2WriteCommand write, KeyedSchema schema, WriteOptions options) {
    List<Attribute> frame = CollectionConverters.asJava(write.query().output());
    List<String> names =
        write.isByName() ? frame.stream().map(Attribute::name).toList() : byPosition(frame, schema);
    boolean caseSensitive = SessionSettings.isCaseSensitive();
    WriteShape shape = WriteShape.of(names, schema, options, caseSensitive);
    Map<String, Expression> values = new HashMap<>();
    shape
        .columns()
        .forEach((position, field) -> values.put(field.name(), value(frame.get(position), field)));
    List<NamedExpression> columns = new ArrayList<>();
    schema.key().forEach(field -> columns.add(alias(keyOf(values, field), field.name())));
    for (NestedField field : schema.values()) {
      boolean onlyHelps =
          options.verb() == WriteOptions.Verb.DELETE
              && !field.name().equals(schema.spec().ordering());
      if (values.containsKey(field.name()) && !onlyHelps) {
        columns.add(alias(values.get(field.name()), field.name()));
      }
    }
    List<Expression> bucketBy = schema.spec().bucketBy().stream().map(values::get).toList();
    columns.add(alias(BucketExpression.of(schema, bucketBy), KeyedSchema.BUCKET));
    if (schema.hasGroups()) {
      columns.add(alias(GroupExpression.group(schema, bucketBy), KeyedSchema.GROUP));
    }
    addHelpers(columns, frame, shape, options);
    return CollectionConverters.asScala(columns).toSeq();
  }

  private static Expression keyOf(Map<String, Expression> values, NestedField field) {
    return Objects.requireNonNull(values.get(field.name()), "a frame without its key is refused");
  }

  /** A uuid is text to Spark; in lower case its order is that of its bytes. */
  private static Expression value(Attribute given, NestedField field) {
    Expression value = CheckedCast.of(given, field.name(), ColumnTypes.spark(field));
    return field.type().typeId() == Type.TypeID.UUID ? new Lower(value) : value;
  }

  private static List<String> byPosition(List<Attribute> frame, KeyedSchema schema) {
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

  private static void addHelpers(
      List<NamedExpression> columns,
      List<Attribute> frame,
      WriteShape shape,
      WriteOptions options) {
    if (options.version() != null) {
      columns.add(
          alias(
              version(helper(frame, shape, options.version()), options.version()),
              HelperColumn.VERSION));
    }
    options
        .versionOf()
        .forEach(
            (column, source) ->
                columns.add(
                    alias(
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
      columns.add(alias(list, HelperColumn.COLUMNS_FROM));
    }
    if (options.op() != null) {
      Expression op = helper(frame, shape, options.op());
      if (!(op.dataType() instanceof StringType)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "op names column '%s' of type %s; it must be a string"
                .formatted(options.op(), ColumnTypes.word(op.dataType())));
      }
      columns.add(alias(op, HelperColumn.OP));
    }
    if (options.rowOrder() != null) {
      columns.add(
          alias(
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

  private static NamedExpression alias(Expression value, String name) {
    return new Alias(
        value,
        name,
        NamedExpression.newExprId(),
        CollectionConverters.asScala(List.<String>of()).toSeq(),
        Option.empty(),
        CollectionConverters.asScala(List.<String>of()).toSeq());
  }
}
