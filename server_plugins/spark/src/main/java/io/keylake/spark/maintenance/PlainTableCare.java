package io.keylake.spark.maintenance;

import io.keylake.tables.conversion.ConversionRun;
import io.keylake.tables.conversion.DeleteBacklog;
import io.keylake.tables.conversion.EqualityDeletePolicy;
import java.time.Instant;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.SparkContext;

/**
 * What maintenance does for plain tables that ask for it: their equality deletes become positions.
 *
 * @param atOnce how many tasks run side by side
 */
record PlainTableCare(SparkContext spark, int atOnce) {

  /** What was done, if the policy wanted anything. */
  Optional<Maintenance.Entry> give(String name, Table table, EqualityDeletePolicy policy) {
    long start = System.nanoTime();
    Optional<String> because = policy.because(DeleteBacklog.of(table), Instant.now());
    if (because.isEmpty()) {
      return Optional.empty();
    }
    spark.setJobDescription("keylake: equality deletes of " + name);
    ConversionRun.Outcome done =
        new ConversionRun(
                table,
                Expressions.alwaysTrue(),
                ConversionRun.PORTIONS_PER_COMMIT,
                conversions -> EqualityDeleteWork.run(spark, table, conversions, atOnce))
            .run();
    if (done.commits() == 0) {
      return Optional.empty();
    }
    return Optional.of(
        new Maintenance.Entry(
            Instant.now(),
            name,
            null,
            "applied",
            Math.toIntExact(done.commits()),
            done.removed().files(),
            done.written().files(),
            done.removed().bytes(),
            done.written().bytes(),
            (System.nanoTime() - start) / 1e9,
            because.get()));
  }
}
