package io.keylake.spark.engine;

import java.util.Optional;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.catalyst.util.RebaseDateTime;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.execution.datasources.parquet.ParquetFilters;
import org.apache.spark.sql.internal.LegacyBehaviorPolicy;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.internal.connector.PredicateUtils;
import org.apache.spark.sql.sources.Filter;
import scala.Option;

/** Turns Spark's filters into those of Parquet, for files of one schema. */
public final class ParquetPushdown {
  private static final int IN_VALUES = 100;

  private final ParquetFilters filters;

  public ParquetPushdown(MessageType file) {
    filters =
        new ParquetFilters(
            file,
            true,
            true,
            true,
            true,
            IN_VALUES,
            true,
            new RebaseDateTime.RebaseSpec(LegacyBehaviorPolicy.CORRECTED(), Option.empty()));
  }

  /** The filter of Parquet; empty where a file cannot be asked. */
  public Optional<FilterPredicate> of(Filter filter) {
    return Optional.ofNullable(filters.createFilter(filter).getOrElse(() -> null));
  }

  /**
   * The filter that a predicate is for files; empty where they cannot be asked. Dates and times are
   * those of {@code java.time}, whatever the session has: the calendar of {@code java.sql} has no
   * days from 1582-10-05 to 1582-10-14, and takes them for others.
   */
  public static Optional<Filter> filter(Predicate predicate) {
    SQLConf exact = SQLConf.get().clone();
    exact.setConf(SQLConf.DATETIME_JAVA8API_ENABLED(), true);
    Option<Filter> filter = SQLConf.withExistingConf(exact, () -> PredicateUtils.toV1(predicate));
    return Optional.ofNullable(filter.getOrElse(() -> null));
  }
}
