package io.keylake.spark.engine;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.lang.reflect.Constructor;
import org.apache.spark.SparkBuildInfo;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.plans.physical.KeyGroupedPartitioning;
import scala.collection.immutable.Seq;

/**
 * Spark's partitioning by the values of columns. Its constructor has four parameters in 4.1.0 and
 * 4.1.1, five in 4.1.2 and 4.1.3, and six in 4.1.4; those that were added have defaults, which are
 * right for partitions that are complete and all known.
 */
public final class BucketPartitioning {
  private BucketPartitioning() {}

  /**
   * @param by the columns
   * @param values those of each partition
   */
  public static KeyGroupedPartitioning of(Seq<Expression> by, Seq<InternalRow> values) {
    try {
      Constructor<?> made = KeyGroupedPartitioning.class.getConstructors()[0];
      Object[] arguments = new Object[made.getParameterCount()];
      arguments[0] = by;
      arguments[1] = values.size();
      arguments[2] = values;
      arguments[3] = values;
      for (int i = 4; i < arguments.length; i++) {
        String nameOfDefault = "$lessinit$greater$default$" + (i + 1);
        arguments[i] = KeyGroupedPartitioning.class.getMethod(nameOfDefault).invoke(null);
      }
      return (KeyGroupedPartitioning) made.newInstance(arguments);
    } catch (ReflectiveOperationException | IllegalArgumentException e) {
      throw new KeylakeException(
          UNSUPPORTED,
          "Spark %s makes partitions by bucket in a way that keylake does not know; start the server with the release that keylake was built with"
              .formatted(SparkBuildInfo.spark_version()));
    }
  }
}
