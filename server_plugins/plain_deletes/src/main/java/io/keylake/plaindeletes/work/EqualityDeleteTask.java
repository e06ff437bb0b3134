package io.keylake.plaindeletes.work;

import io.keylake.plaindeletes.conversion.ConversionRun;
import io.keylake.plaindeletes.conversion.DeleteBacklog;
import io.keylake.plaindeletes.conversion.EqualityDeletePolicy;
import io.keylake.spark.extension.MaintenanceTask;
import java.time.Instant;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.SparkContext;

/** Turns the equality deletes of plain tables into positions where their policy wants it. */
public final class EqualityDeleteTask implements MaintenanceTask {
  @Override
  public String property() {
    return EqualityDeletePolicy.PROPERTY;
  }

  @Override
  public void check(String value) {
    EqualityDeletePolicy.fromJson(value);
  }

  @Override
  public Optional<Done> run(SparkContext spark, String name, Table table, int atOnce) {
    Optional<String> because =
        EqualityDeletePolicy.of(table)
            .flatMap(policy -> policy.because(DeleteBacklog.of(table), Instant.now()));
    if (because.isEmpty()) {
      return Optional.empty();
    }
    spark.setJobDescription("keylake: equality deletes of " + name);
    ConversionRun.Outcome outcome =
        new ConversionRun(
                table,
                Expressions.alwaysTrue(),
                ConversionRun.PORTIONS_PER_COMMIT,
                conversions -> EqualityDeleteWork.run(spark, table, conversions, atOnce))
            .run();
    return outcome.commits() == 0
        ? Optional.empty()
        : Optional.of(
            new Done(
                Math.toIntExact(outcome.commits()),
                outcome.removed().files(),
                outcome.written().files(),
                outcome.removed().bytes(),
                outcome.written().bytes(),
                because.get()));
  }
}
