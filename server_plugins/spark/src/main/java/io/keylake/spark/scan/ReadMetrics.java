package io.keylake.spark.scan;

import io.keylake.spark.parquet.ReadCounters;
import java.util.Arrays;
import java.util.Map;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The numbers that a scan shows: what was planned, and what its tasks did. */
public final class ReadMetrics {
  private static final String SECTIONS_MERGED = "sectionsMerged";
  private static final String SECTIONS_PASSED_THROUGH = "sectionsPassedThrough";

  private static final Map<String, String> PLANNED =
      Map.of(
          SECTIONS_MERGED, "sections merged", SECTIONS_PASSED_THROUGH, "sections passed through");

  /** What tasks count. */
  private enum Counted {
    FILES_OPENED("filesOpened", "files opened", counters -> counters.filesOpened),
    ROW_GROUPS_READ("rowGroupsRead", "row groups read", counters -> counters.rowGroupsRead),
    ROW_GROUPS_SKIPPED(
        "rowGroupsSkipped", "row groups skipped", counters -> counters.rowGroupsSkipped),
    ROWS_IN("rowsIn", "rows in", counters -> counters.rowsIn),
    ROWS_OUT("rowsOut", "rows out", counters -> counters.rowsOut),
    COLUMNS_OPENED("columnsOpened", "columns opened", counters -> counters.columnsOpened),
    BYTES_READ("bytesRead", "bytes read", counters -> counters.bytesRead);

    private final String key;
    private final String description;
    private final ToLongFunction<ReadCounters> count;

    Counted(String key, String description, ToLongFunction<ReadCounters> count) {
      this.key = key;
      this.description = description;
      this.count = count;
    }
  }

  private record Value(String name, long value) implements CustomTaskMetric {}

  private ReadMetrics() {}

  static CustomMetric[] all() {
    return Stream.concat(
            PLANNED.entrySet().stream()
                .map(metric -> new ReadMetric(metric.getKey(), metric.getValue())),
            Arrays.stream(Counted.values())
                .map(metric -> new ReadMetric(metric.key, metric.description)))
        .toArray(CustomMetric[]::new);
  }

  /** For the driver to report. */
  static CustomTaskMetric[] planned(long sectionsMerged, long sectionsPassedThrough) {
    return new CustomTaskMetric[] {
      new Value(SECTIONS_MERGED, sectionsMerged),
      new Value(SECTIONS_PASSED_THROUGH, sectionsPassedThrough)
    };
  }

  /** For a task to report, as often as Spark asks. */
  static CustomTaskMetric[] of(ReadCounters counters) {
    return Arrays.stream(Counted.values())
        .map(metric -> new Value(metric.key, metric.count.applyAsLong(counters)))
        .toArray(CustomTaskMetric[]::new);
  }
}
