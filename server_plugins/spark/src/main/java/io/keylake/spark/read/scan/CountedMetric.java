package io.keylake.spark.read.scan;

import io.keylake.tables.GuestApi;
import java.util.function.ToLongFunction;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/**
 * A number that tasks count, and a scan shows added up over them.
 *
 * @param <C> where tasks keep their counts
 */
@GuestApi
public record CountedMetric<C>(String name, String description, ToLongFunction<C> count) {

  /** The metric that a scan names. */
  public CustomMetric shown() {
    return new ReadMetric(name, description);
  }

  /** The value that a task reports, as often as Spark asks. */
  public CustomTaskMetric of(C counters) {
    return new Value(name, count.applyAsLong(counters));
  }

  record Value(String name, long value) implements CustomTaskMetric {}
}
