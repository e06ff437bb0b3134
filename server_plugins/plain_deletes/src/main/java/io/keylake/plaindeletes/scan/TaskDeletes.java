package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteIndex;
import java.io.Closeable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.TaskContext;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.metric.CustomTaskMetric;
import org.apache.spark.unsafe.types.UTF8String;
import org.apache.spark.util.TaskFailureListener;
import org.jspecify.annotations.Nullable;

/**
 * The equality deletes of one task, file after file. It holds the indexes that the current file
 * needs, and no others.
 */
final class TaskDeletes implements Closeable {
  private final IndexedPartition partition;
  private final ReadColumns columns;
  private final TaskContext task = TaskContext.get();
  private final SharedIndexes indexes = SharedIndexes.ofThisProcess();
  private final DeleteCounters counters = new DeleteCounters();
  private final Map<Integer, DeleteIndex> held = new LinkedHashMap<>();
  private final Set<Integer> groups = new HashSet<>();
  private List<Applied> applied = List.of();
  private long sequenceNumber;
  private @Nullable UTF8String file;
  private boolean hasFailed;

  private record Applied(DeleteIndex index, RowKeys keys) {}

  TaskDeletes(IndexedPartition partition, ReadColumns columns) {
    this.partition = partition;
    this.columns = columns;
    partition.files().values().forEach(each -> groups.addAll(each.groups()));
    TaskFailureListener failed = (context, error) -> hasFailed = true;
    task.addTaskFailureListener(failed);
  }

  /** The rows that come now are of this data file. */
  void enter(UTF8String location) {
    if (location.equals(file)) {
      return;
    }
    file = location.clone();
    FileDeletes needed = partition.files().get(location.toString());
    List<Integer> numbers = needed == null ? List.of() : needed.groups();
    sequenceNumber = needed == null ? 0 : needed.sequenceNumber();
    applied = List.of();
    releaseAllBut(numbers);
    ScanDeletes scan = partition.scan().value();
    List<Applied> all = new ArrayList<>();
    for (int number : numbers) {
      DeleteIndex index = held.get(number);
      if (index == null) {
        index = indexes.acquire(scan, number, task, counters);
        held.put(number, index);
      }
      all.add(
          new Applied(
              index,
              new RowKeys(
                  scan.groups().get(number), columns.positions(scan.groups().get(number)))));
    }
    applied = all;
  }

  /** Rows of the current file can be deleted. */
  boolean apply() {
    return !applied.isEmpty();
  }

  /** A row of the current file is deleted. */
  boolean has(InternalRow row) {
    for (int i = 0; i < applied.size(); i++) {
      Applied each = applied.get(i);
      if (each.index().deletes(each.keys().of(row), sequenceNumber)) {
        counters.rowsDeleted++;
        return true;
      }
    }
    return false;
  }

  private void releaseAllBut(List<Integer> needed) {
    ScanDeletes scan = partition.scan().value();
    for (int number : List.copyOf(held.keySet())) {
      if (!needed.contains(number)) {
        held.remove(number);
        counters.memoryFreed += indexes.release(scan, number, task);
      }
    }
  }

  /** Ends the work when all rows have come. */
  void finish() {
    applied = List.of();
    releaseAllBut(List.of());
    counters.memoryFreed += indexes.finish(partition.scan().value(), groups, partition.number());
  }

  CustomTaskMetric[] metrics(CustomTaskMetric[] others) {
    return Stream.concat(Arrays.stream(others), DeleteMetrics.of(counters))
        .toArray(CustomTaskMetric[]::new);
  }

  /** Another attempt of a task that has failed will need the indexes. */
  @Override
  public void close() {
    if (hasFailed) {
      releaseAllBut(List.of());
    } else {
      finish();
    }
  }
}
