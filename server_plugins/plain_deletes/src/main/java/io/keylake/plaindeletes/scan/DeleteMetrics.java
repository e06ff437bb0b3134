package io.keylake.plaindeletes.scan;

import io.keylake.spark.read.scan.CountedMetric;
import java.util.List;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The numbers that a scan shows about its equality deletes, all of them added up over tasks. */
final class DeleteMetrics {
  private static final List<CountedMetric<DeleteCounters>> COUNTED =
      List.of(
          new CountedMetric<>(
              "deleteFilesLoaded", "equality delete files loaded", it -> it.filesLoaded),
          new CountedMetric<>(
              "deleteBytesLoaded", "bytes of equality delete files loaded", it -> it.bytesLoaded),
          new CountedMetric<>(
              "deleteKeysLoaded", "keys of equality deletes loaded", it -> it.keysLoaded),
          new CountedMetric<>(
              "deleteBytesSpilled", "bytes of delete indexes on disk", it -> it.bytesSpilled),
          new CountedMetric<>(
              "deleteMemoryTaken", "memory of delete indexes taken", it -> it.memoryTaken),
          new CountedMetric<>(
              "deleteMemoryFreed", "memory of delete indexes given back", it -> it.memoryFreed),
          new CountedMetric<>(
              "rowsDeletedByKey", "rows left out by equality deletes", it -> it.rowsDeleted));

  private DeleteMetrics() {}

  static Stream<CustomMetric> all() {
    return COUNTED.stream().map(CountedMetric::shown);
  }

  static Stream<CustomTaskMetric> of(DeleteCounters counters) {
    return COUNTED.stream().map(metric -> metric.of(counters));
  }
}
