package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.maintenance.LogEntry;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.PointInTime;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/** The procedures that say what the server's maintenance has done, and its switch. */
final class MaintenanceProcedures {
  private static final StructType STATE =
      new StructType()
          .add("is_on", DataTypes.BooleanType)
          .add("is_paused", DataTypes.BooleanType)
          .add("is_idle", DataTypes.BooleanType);

  private static final StructType ENTRY =
      new StructType()
          .add("at", DataTypes.TimestampType)
          .add("table", DataTypes.StringType)
          .add("branch", DataTypes.StringType)
          .add("state", DataTypes.StringType)
          .add("merges", DataTypes.LongType)
          .add("files_merged", DataTypes.LongType)
          .add("files_written", DataTypes.LongType)
          .add("bytes_merged", DataTypes.LongType)
          .add("bytes_written", DataTypes.LongType)
          .add("seconds", DataTypes.DoubleType)
          .add("because", DataTypes.StringType);

  private MaintenanceProcedures() {}

  static List<LocalProcedure> all() {
    return List.of(
        switched("pause_maintenance", Maintenance::pause),
        switched("resume_maintenance", Maintenance::resume),
        new LocalProcedure(
            "maintenance_state", List.of(), STATE, arguments -> List.of(state(find()))),
        new LocalProcedure(
            "maintenance_log",
            List.of(LocalProcedure.optionalNumber("at_most")),
            ENTRY,
            arguments -> {
              Long atMost = arguments.number("at_most");
              return required().log().stream()
                  .limit(atMost == null ? Long.MAX_VALUE : atMost)
                  .map(MaintenanceProcedures::row)
                  .toList();
            }));
  }

  private static LocalProcedure switched(String name, Consumer<Maintenance> action) {
    return new LocalProcedure(
        name,
        List.of(),
        STATE,
        arguments -> {
          Maintenance maintenance = required();
          action.accept(maintenance);
          return List.of(state(maintenance));
        });
  }

  private static @Nullable Maintenance find() {
    return Maintenance.of(SparkSession.active().sparkContext());
  }

  private static Maintenance required() {
    Maintenance maintenance = find();
    if (maintenance == null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "maintenance is off on this server; start it with %s=true, or call compact"
              .formatted(Maintenance.ENABLED));
    }
    return maintenance;
  }

  private static InternalRow state(@Nullable Maintenance maintenance) {
    return maintenance == null
        ? LocalProcedure.row(false, false, true)
        : LocalProcedure.row(true, maintenance.isPaused(), maintenance.isIdle());
  }

  private static InternalRow row(LogEntry entry) {
    return LocalProcedure.row(
        PointInTime.micros(entry.at()),
        entry.table(),
        entry.branch(),
        entry.state(),
        (long) entry.merges(),
        entry.filesMerged(),
        entry.filesWritten(),
        entry.bytesMerged(),
        entry.bytesWritten(),
        entry.seconds(),
        entry.because());
  }
}
