package io.keylake.spark.read.scan;

import io.keylake.spark.read.selection.SelectionCache;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.planning.ReadPlan.Extreme;
import io.keylake.tables.planning.ReadPlan.KeyValue;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.connector.expressions.Expression;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.aggregate.AggregateFunc;
import org.apache.spark.sql.connector.expressions.aggregate.Aggregation;
import org.apache.spark.sql.connector.expressions.aggregate.Count;
import org.apache.spark.sql.connector.expressions.aggregate.CountStar;
import org.apache.spark.sql.connector.expressions.aggregate.Max;
import org.apache.spark.sql.connector.expressions.aggregate.Min;
import org.apache.spark.sql.connector.read.LocalScan;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Counts, and smallest and largest keys, that take no reading: the plan of a read knows them, or
 * earlier reads in this process have found which rows win.
 */
record MetadataScan(String table, StructType readSchema, List<Object> answers)
    implements LocalScan {

  /** The scan that answers aggregates; empty where one takes reading. */
  static Optional<MetadataScan> of(
      String table, KeyedSchema schema, ReadPlan plan, Aggregation asked) {
    StructType columns = new StructType();
    List<Object> answers = new ArrayList<>();
    for (AggregateFunc aggregate : asked.aggregateExpressions()) {
      Optional<KeyValue> answer = answer(schema, plan, aggregate);
      if (answer.isEmpty()) {
        return Optional.empty();
      }
      columns =
          columns.add(answers.size() + " " + aggregate.describe(), typeOf(schema, aggregate), true);
      answers.add(SparkValue.of(answer.get().value()));
    }
    return Optional.of(new MetadataScan(table, columns, answers));
  }

  /** Some plan may answer what is asked for. */
  static boolean isWorthPlanning(KeyedSchema schema, Aggregation asked) {
    return asked.groupByExpressions().length == 0
        && Arrays.stream(asked.aggregateExpressions())
            .allMatch(
                aggregate ->
                    aggregate instanceof CountStar
                        || (aggregate instanceof Count count && !count.isDistinct()
                            ? key(schema, count.column()) != null
                            : key(schema, bounded(aggregate)) != null));
  }

  private static Optional<KeyValue> answer(
      KeyedSchema schema, ReadPlan plan, AggregateFunc aggregate) {
    String key = key(schema, bounded(aggregate));
    if (key == null) {
      OptionalLong rows = plan.rowCount(SelectionCache.ofProcess()::rows);
      return rows.isEmpty() // a key is never null
          ? Optional.empty()
          : Optional.of(new KeyValue(rows.getAsLong()));
    }
    Extreme extreme = aggregate instanceof Min ? Extreme.SMALLEST : Extreme.LARGEST;
    return plan.extreme(key, extreme);
  }

  private static DataType typeOf(KeyedSchema schema, AggregateFunc aggregate) {
    String key = key(schema, bounded(aggregate));
    return key == null ? DataTypes.LongType : SparkSchemaUtil.convert(schema.table().findType(key));
  }

  /** The column whose smallest or largest value is wanted, or null. */
  private static @Nullable Expression bounded(AggregateFunc aggregate) {
    if (aggregate instanceof Min min) {
      return min.column();
    }
    return aggregate instanceof Max max ? max.column() : null;
  }

  /** The key column, or null for anything else. */
  private static @Nullable String key(KeyedSchema schema, @Nullable Expression column) {
    return column instanceof NamedReference reference
            && reference.fieldNames().length == 1
            && schema.spec().key().contains(reference.fieldNames()[0])
        ? reference.fieldNames()[0]
        : null;
  }

  @Override
  public InternalRow[] rows() {
    return new InternalRow[] {new GenericInternalRow(answers.toArray())};
  }

  @Override
  public String description() {
    return "keylake %s (answered without reading: %s)"
        .formatted(table, String.join(", ", readSchema.fieldNames()));
  }
}
