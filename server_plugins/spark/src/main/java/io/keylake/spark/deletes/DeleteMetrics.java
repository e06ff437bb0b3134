package io.keylake.spark.deletes;

import io.keylake.spark.scan.ReadMetric;
import java.util.Arrays;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;

/** The numbers that a scan shows about its equality deletes, all of them added up over tasks. */
final class DeleteMetrics {
  private enum Counted {
    FILES("deleteFilesLoaded", "equality delete files loaded", it -> it.filesLoaded),
    BYTES("deleteBytesLoaded", "bytes of equality delete files loaded", it -> it.bytesLoaded),
    KEYS("deleteKeysLoaded", "keys of equality deletes loaded", it -> it.keysLoaded),
    SPILLED("deleteBytesSpilled", "bytes of delete indexes on disk", it -> it.bytesSpilled),
    TAKEN("deleteMemoryTaken", "memory of delete indexes taken", it -> it.memoryTaken),
    FREED("deleteMemoryFreed", "memory of delete indexes given back", it -> it.memoryFreed),
    ROWS("rowsDeletedByKey", "rows left out by equality deletes", it -> it.rowsDeleted);

    private final String key;
    private final String description;
    private final ToLongFunction<DeleteCounters> count;

    Counted(String key, String description, ToLongFunction<DeleteCounters> count) {
      this.key = key;
      this.description = description;
      this.count = count;
    }
  }

  private record Value(String name, long value) implements CustomTaskMetric {}

  private DeleteMetrics() {}

  static Stream<CustomMetric> all() {
    return Arrays.stream(Counted.values())
        .map(metric -> new ReadMetric(metric.key, metric.description));
  }

  static Stream<CustomTaskMetric> of(DeleteCounters counters) {
    return Arrays.stream(Counted.values())
        .map(metric -> new Value(metric.key, metric.count.applyAsLong(counters)));
  }
}
