package io.keylake.spark.write.skew;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Add;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.Coalesce;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.Murmur3Hash;
import org.apache.spark.sql.catalyst.expressions.Pmod;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The places of the columns that say where rows belong.
 *
 * @param place partition, bucket, and the rest of the key
 * @param columnsOfCell how many of them are the partition and the bucket
 */
public record SpreadSpec(List<Integer> place, int columnsOfCell) implements Serializable {

  /**
   * The number of the shuffle's partition for a row, so that the buckets of a partition lie in as
   * many as there are.
   */
  Expression partitionOf(List<Attribute> rows, int partitions) {
    List<Expression> columns = new ArrayList<>(columns(rows));
    Expression bucket =
        new Coalesce( // the writer refuses rows without a key
            seq(List.of(columns.get(columnsOfCell - 1), literal(0))));
    if (columnsOfCell == 1) {
      return new Pmod(bucket, literal(partitions));
    }
    Expression first =
        new Pmod(new Murmur3Hash(seq(columns.subList(0, columnsOfCell - 1))), literal(partitions));
    return new Pmod(new Add(first, bucket), literal(partitions));
  }

  List<Attribute> columns(List<Attribute> rows) {
    return place.stream().map(rows::get).toList();
  }

  DataType[] types(List<Attribute> rows) {
    return columns(rows).stream().map(Attribute::dataType).toArray(DataType[]::new);
  }

  private static Expression literal(int value) {
    return Literal.create(value, DataTypes.IntegerType);
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }
}
