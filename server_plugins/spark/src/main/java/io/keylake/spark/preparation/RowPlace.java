package io.keylake.spark.preparation;

import io.keylake.spark.keys.OrderPrefix;
import io.keylake.spark.statements.Columns;
import io.keylake.spark.write.skew.FewRows;
import io.keylake.spark.write.skew.SpreadRows;
import io.keylake.spark.write.skew.SpreadSpec;
import io.keylake.tables.spec.HelperColumn;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.ExprId;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The place of rows that are prepared for a write: the columns in whose order they are stored.
 *
 * @param columns partition, bucket, and the rest of the key
 * @param columnsOfCell how many of them are the partition and the bucket
 */
record RowPlace(List<Attribute> columns, int columnsOfCell) {

  static RowPlace of(LogicalPlan rows, KeyedSchema schema) {
    Set<String> names = new LinkedHashSet<>(schema.spec().partitionBy());
    names.add(KeyedSchema.BUCKET);
    int columnsOfCell = names.size();
    schema.sortKey().forEach(field -> names.add(field.name()));
    return new RowPlace(names.stream().map(name -> column(rows, name)).toList(), columnsOfCell);
  }

  private static Attribute column(LogicalPlan rows, String name) {
    return CollectionConverters.asJava(rows.output()).stream()
        .filter(column -> column.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** The rows with their place as one number, by which they are sorted. */
  Project numbered(LogicalPlan rows) {
    List<NamedExpression> all = new ArrayList<>(CollectionConverters.asJava(rows.output()));
    all.add(Columns.alias(OrderPrefix.of(columns), HelperColumn.PLACE));
    return Columns.project(all, rows);
  }

  /** The rows, with these columns among theirs, spread over tasks. */
  SpreadRows spread(LogicalPlan rows) {
    return spread(rows, FewRows.Limit.NONE);
  }

  /**
   * @param few rows that the driver is told
   */
  SpreadRows spread(LogicalPlan rows, FewRows.Limit few) {
    List<ExprId> ids =
        CollectionConverters.asJava(rows.output()).stream().map(Attribute::exprId).toList();
    return new SpreadRows(
        rows,
        new SpreadSpec(
            columns.stream().map(column -> ids.indexOf(column.exprId())).toList(), columnsOfCell),
        few);
  }
}
