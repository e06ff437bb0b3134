package io.keylake.spark.statements;

import static org.junit.jupiter.api.Assertions.assertInstanceOf;

import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.plans.logical.OneRowRelation;
import org.apache.spark.sql.types.DataTypes;
import org.junit.jupiter.api.Test;
import scala.collection.immutable.IndexedSeq;

class ColumnsTest {
  /** Spark asks for each of them by its number, for each local row. */
  @Test
  void columnsOfPlansAreFoundByTheirNumbers() {
    List<NamedExpression> columns =
        List.of(
            Columns.alias(Literal.create(1L, DataTypes.LongType), "a"),
            Columns.alias(Literal.create(2L, DataTypes.LongType), "b"));
    assertInstanceOf(
        IndexedSeq.class, Columns.project(columns, new OneRowRelation()).projectList());
  }
}
