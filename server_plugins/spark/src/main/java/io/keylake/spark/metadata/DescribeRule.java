package io.keylake.spark.metadata;

import io.keylake.spark.engine.RowType;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.table.NodeRule;
import io.keylake.tables.metadata.Description;
import io.keylake.tables.metadata.Description.Line;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.plans.logical.DescribeRelation;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Union;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/** Adds to DESCRIBE TABLE EXTENDED of a keyed table what Spark does not know of it. */
public final class DescribeRule extends NodeRule {
  /** A line as Spark's own. */
  private record LineRow(String colName, String dataType, String comment) {}

  @Override
  protected boolean concerns(LogicalPlan node) {
    return described(node) != null;
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    return extended((DescribeRelation) node);
  }

  private static @Nullable KeyedTable described(LogicalPlan node) {
    return node instanceof DescribeRelation describe
            && describe.isExtended()
            && describe.partitionSpec().isEmpty()
            && describe.relation() instanceof ResolvedTable resolved
            && resolved.table() instanceof KeyedTable table
        ? table
        : null;
  }

  private static LogicalPlan extended(DescribeRelation describe) {
    KeyedTable table = (KeyedTable) ((ResolvedTable) describe.relation()).table();
    RowType<LineRow> type = RowType.of(LineRow.class);
    List<InternalRow> rows = new ArrayList<>();
    rows.add(type.row(new LineRow("", "", "")));
    for (Line line : new Description(table.table(), table.stored(), table.snapshotId()).lines()) {
      rows.add(type.row(new LineRow(line.name(), line.value(), "")));
    }
    List<Attribute> columns =
        CollectionConverters.asJava(describe.output()).stream()
            .map(Attribute::newInstance)
            .map(Attribute.class::cast)
            .toList();
    LogicalPlan ours =
        new LocalRelation(
            CollectionConverters.asScala(columns).toSeq(),
            CollectionConverters.asScala(rows).toSeq(),
            false,
            Option.empty());
    List<LogicalPlan> both = List.of(describe, ours);
    return new Union(CollectionConverters.asScala(both).toSeq(), false, false);
  }
}
