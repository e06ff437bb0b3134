package io.keylake.spark.read.scan;

import io.keylake.spark.parquet.ReadCounters;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The numbers that a scan shows: what was planned, and what its tasks did. */
public final class ReadMetrics {
  private static final String SECTIONS_MERGED = "sectionsMerged";
  private static final String SECTIONS_PASSED_THROUGH = "sectionsPassedThrough";

  private static final String FILES_LEFT_OUT = "filesLeftOut";

  private static final Map<String, String> PLANNED =
      Map.of(
          SECTIONS_MERGED, "sections merged", SECTIONS_PASSED_THROUGH, "sections passed through");

  /** The numbers that tasks count. */
  private static final List<CountedMetric<ReadCounters>> COUNTED =
      List.of(
          new CountedMetric<>("filesOpened", "files opened", counters -> counters.filesOpened),
          new CountedMetric<>(FILES_LEFT_OUT, "files left out", counters -> counters.filesLeftOut),
          new CountedMetric<>(
              "rowGroupsRead", "row groups read", counters -> counters.rowGroupsRead),
          new CountedMetric<>(
              "rowGroupsSkipped", "row groups skipped", counters -> counters.rowGroupsSkipped),
          new CountedMetric<>("rowsIn", "rows in", counters -> counters.rowsIn),
          new CountedMetric<>("rowsOut", "rows out", counters -> counters.rowsOut),
          new CountedMetric<>(
              "columnsOpened", "columns opened", counters -> counters.columnsOpened),
          new CountedMetric<>("bytesRead", "bytes read", counters -> counters.bytesRead));

  private ReadMetrics() {}

  static CustomMetric[] all() {
    return Stream.concat(
            PLANNED.entrySet().stream()
                .map(metric -> new ReadMetric(metric.getKey(), metric.getValue())),
            COUNTED.stream().map(CountedMetric::shown))
        .toArray(CustomMetric[]::new);
  }

  /** The metrics that the driver reports. */
  static CustomTaskMetric[] planned(
      long sectionsMerged, long sectionsPassedThrough, long filesLeftOut) {
    return new CustomTaskMetric[] {
      new CountedMetric.Value(SECTIONS_MERGED, sectionsMerged),
      new CountedMetric.Value(SECTIONS_PASSED_THROUGH, sectionsPassedThrough),
      new CountedMetric.Value(FILES_LEFT_OUT, filesLeftOut)
    };
  }

  /** The metrics that a task reports, as often as Spark asks. */
  static CustomTaskMetric[] of(ReadCounters counters) {
    return COUNTED.stream().map(metric -> metric.of(counters)).toArray(CustomTaskMetric[]::new);
  }
}
