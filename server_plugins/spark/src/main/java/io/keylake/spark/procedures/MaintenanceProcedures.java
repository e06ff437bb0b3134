package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.maintenance.LogEntry;
import io.keylake.spark.maintenance.Maintenance;
import io.keylake.tables.KeylakeException;
import java.time.Instant;
import java.util.List;
import java.util.function.Consumer;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;

/** The procedures that say what the server's maintenance has done, and its switch. */
final class MaintenanceProcedures {
  /** The state of the maintenance of a server. */
  private record StateRow(boolean isOn, boolean isPaused, boolean isIdle) {}

  /** A line of the log of maintenance. */
  private record EntryRow(
      Instant at,
      String table,
      @Nullable String branch,
      String state,
      long merges,
      long filesMerged,
      long filesWritten,
      long bytesMerged,
      long bytesWritten,
      double seconds,
      String because) {}

  private MaintenanceProcedures() {}

  static List<LocalProcedure> all() {
    return List.of(
        switched("pause_maintenance", Maintenance::pause),
        switched("resume_maintenance", Maintenance::resume),
        LocalProcedure.of(
            "maintenance_state", List.of(), StateRow.class, arguments -> List.of(state(find()))),
        LocalProcedure.of(
            "maintenance_log",
            List.of(LocalProcedure.optionalNumber("at_most")),
            EntryRow.class,
            arguments -> {
              Long atMost = arguments.number("at_most");
              return required().log().stream()
                  .limit(atMost == null ? Long.MAX_VALUE : atMost)
                  .map(MaintenanceProcedures::row)
                  .toList();
            }));
  }

  private static LocalProcedure switched(String name, Consumer<Maintenance> action) {
    return LocalProcedure.of(
        name,
        List.of(),
        StateRow.class,
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

  private static StateRow state(@Nullable Maintenance maintenance) {
    return maintenance == null
        ? new StateRow(false, false, true)
        : new StateRow(true, maintenance.isPaused(), maintenance.isIdle());
  }

  private static EntryRow row(LogEntry entry) {
    return new EntryRow(
        entry.at(),
        entry.table(),
        entry.branch(),
        entry.state(),
        entry.merges(),
        entry.filesMerged(),
        entry.filesWritten(),
        entry.bytesMerged(),
        entry.bytesWritten(),
        entry.seconds(),
        entry.because());
  }
}
