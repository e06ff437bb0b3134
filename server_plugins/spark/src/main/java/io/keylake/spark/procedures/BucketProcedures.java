package io.keylake.spark.procedures;

import io.keylake.spark.maintenance.Maintenance;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.compaction.BucketAdvice;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The procedures about the number of buckets that a table has, and should have. */
final class BucketProcedures {
  private static final StructType CHANGE =
      new StructType().add("before", DataTypes.LongType).add("after", DataTypes.LongType);

  private static final StructType ADVICE =
      new StructType()
          .add("buckets", DataTypes.LongType)
          .add("recommended", DataTypes.LongType)
          .add("reason", DataTypes.StringType);

  private final TableArgument tables;

  BucketProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        new LocalProcedure(
            "change_buckets",
            List.of(LocalProcedure.required("table"), LocalProcedure.requiredNumber("buckets")),
            CHANGE,
            this::change),
        new LocalProcedure(
            "bucket_advice",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            ADVICE,
            this::advice));
  }

  /** New data goes to more buckets; old data follows in the background, where there is one. */
  private List<InternalRow> change(Arguments arguments) {
    Table table = tables.load(arguments);
    BucketChange change = BucketChange.make(table, arguments.requiredNumber("buckets"));
    Maintenance maintenance = Maintenance.of(SparkSession.active().sparkContext());
    if (maintenance != null) {
      maintenance.look(table.name(), null, () -> table);
    }
    return List.of(LocalProcedure.row((long) change.before(), (long) change.after()));
  }

  private List<InternalRow> advice(Arguments arguments) {
    BucketAdvice advice = BucketAdvice.of(tables.load(arguments), arguments.text("branch"));
    return List.of(
        LocalProcedure.row((long) advice.buckets(), (long) advice.recommended(), advice.reason()));
  }
}
