package io.keylake.spark.procedures;

import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.compaction.BucketAdvice;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.SparkSession;

/** The procedures about the number of buckets that a table has, and should have. */
final class BucketProcedures {
  /** The numbers of buckets before and after a change. */
  private record ChangeRow(long before, long after) {}

  /** The number of buckets that a table has, and the one that it should have. */
  private record AdviceRow(long buckets, long recommended, String reason) {}

  private final TableArgument tables;

  BucketProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "change_buckets",
            List.of(LocalProcedure.required("table"), LocalProcedure.requiredNumber("buckets")),
            ChangeRow.class,
            this::change),
        LocalProcedure.of(
            "bucket_advice",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            AdviceRow.class,
            this::advice));
  }

  /** New data goes to more buckets; old data follows in the background, where there is one. */
  private List<ChangeRow> change(Arguments arguments) {
    Table table = tables.load(arguments);
    BucketChange change = BucketChange.make(table, arguments.requiredNumber("buckets"));
    Maintenance maintenance = Maintenance.of(SparkSession.active().sparkContext());
    if (maintenance != null) {
      maintenance.look(table.name(), null, () -> table);
    }
    return List.of(new ChangeRow(change.before(), change.after()));
  }

  private List<AdviceRow> advice(Arguments arguments) {
    BucketAdvice advice = BucketAdvice.of(tables.load(arguments), arguments.text("branch"));
    return List.of(new AdviceRow(advice.buckets(), advice.recommended(), advice.reason()));
  }
}
