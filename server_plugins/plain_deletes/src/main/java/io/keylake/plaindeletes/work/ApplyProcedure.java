package io.keylake.plaindeletes.work;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.plaindeletes.conversion.ConversionRun;
import io.keylake.plaindeletes.conversion.DeleteBacklog;
import io.keylake.plaindeletes.conversion.EqualityDeletePolicy;
import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.procedures.LocalProcedure;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Instant;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/** {@code apply_equality_deletes}: equality deletes of a plain table become positions. */
public final class ApplyProcedure {
  /** The outcome of a conversion, in which a value that a plan cannot know is null. */
  private record AppliedRow(
      long portions,
      long dataFiles,
      @Nullable Long rows,
      @Nullable Long dataFilesRemoved,
      long deleteFilesRemoved,
      long bytesRemoved,
      @Nullable Long deleteFilesWritten,
      @Nullable Long bytesWritten,
      long commits,
      long commitsLost,
      @Nullable String dueBecause) {}

  private final CatalogTables tables;

  private ApplyProcedure(CatalogTables tables) {
    this.tables = tables;
  }

  /**
   * @param tables of the catalog whose procedure is called
   */
  public static LocalProcedure of(CatalogTables tables) {
    return new ApplyProcedure(tables).procedure();
  }

  private LocalProcedure procedure() {
    return LocalProcedure.of(
        "apply_equality_deletes",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optional("where"),
            ProcedureParameter.in("dry_run", DataTypes.BooleanType).defaultValue("false").build(),
            LocalProcedure.optionalNumber("portions_per_commit")),
        AppliedRow.class,
        arguments -> List.of(apply(arguments)));
  }

  private AppliedRow apply(Arguments arguments) {
    String name = arguments.requiredText("table");
    Table table = tables.load(name);
    if (KeyedSchema.isKeyed(table)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "apply_equality_deletes is for plain Iceberg tables, and %s is a keyed one, whose deletes are rows; use compact(table => ...)"
              .formatted(name));
    }
    String where = arguments.text("where");
    Expression condition = where == null ? Expressions.alwaysTrue() : tables.condition(name, where);
    SparkContext spark = SparkSession.active().sparkContext();
    ConversionRun run =
        new ConversionRun(
            table,
            condition,
            portionsPerCommit(arguments),
            conversions -> EqualityDeleteWork.run(spark, table, conversions, conversions.size()));
    return arguments.isSet("dry_run")
        ? row(run.plan(), true, dueBecause(table))
        : row(run.run(), false, null);
  }

  /** The reason why maintenance would apply deletes now; null where it would not. */
  private static @Nullable String dueBecause(Table table) {
    return EqualityDeletePolicy.of(table)
        .flatMap(policy -> policy.because(DeleteBacklog.of(table), Instant.now()))
        .orElse(null);
  }

  private static int portionsPerCommit(Arguments arguments) {
    Long said = arguments.number("portions_per_commit");
    if (said == null) {
      return ConversionRun.PORTIONS_PER_COMMIT;
    }
    if (said < 1 || said > Integer.MAX_VALUE) {
      throw new KeylakeException(
          DEFINITION,
          "portions_per_commit => %d is not possible; give a number from 1 on, or leave it out for %d"
              .formatted(said, ConversionRun.PORTIONS_PER_COMMIT));
    }
    return said.intValue();
  }

  /** The row of a result, in which a value that a plan cannot know is null. */
  private static AppliedRow row(
      ConversionRun.Outcome outcome, boolean isPlan, @Nullable String dueBecause) {
    return new AppliedRow(
        outcome.portions(),
        outcome.dataFiles(),
        isPlan ? null : outcome.rows(),
        isPlan ? null : outcome.dataFilesRemoved(),
        outcome.removed().files(),
        outcome.removed().bytes(),
        isPlan ? null : outcome.written().files(),
        isPlan ? null : outcome.written().bytes(),
        outcome.commits(),
        outcome.lost(),
        dueBecause);
  }
}
