package io.keylake.spark.engine;

import java.util.Optional;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import scala.Option;

/** The filters that Spark asks of Parquet files. */
public final class SourceFilters {
  private SourceFilters() {}

  /**
   * Empty where a predicate cannot be asked of files. Dates and times are those of {@code
   * java.time}, whatever the session has: the calendar of {@code java.sql} has no days from
   * 1582-10-05 to 1582-10-14, and takes them for others.
   */
  public static Optional<Filter> of(Predicate predicate) {
    SQLConf exact = SQLConf.get().clone();
    exact.setConf(SQLConf.DATETIME_JAVA8API_ENABLED(), true);
    Option<Filter> filter = SQLConf.withExistingConf(exact, () -> PredicateUtils.toV1(predicate));
    return Optional.ofNullable(filter.getOrElse(() -> null));
  }
}
