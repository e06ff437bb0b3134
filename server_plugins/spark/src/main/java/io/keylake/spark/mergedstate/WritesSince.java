package io.keylake.spark.mergedstate;

import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/** The writes between two commits, which are looked up when somebody asks. */
final class WritesSince {
  private final Table table;
  private final ReadPlanner planner;
  private final @Nullable Long before;
  private final long head;
  private @Nullable Map<List<Serializable>, List<StoredFile>> files;

  /**
   * @param before null where there is none
   */
  WritesSince(Table table, ReadPlanner planner, @Nullable Long before, long head) {
    this.table = table;
    this.planner = planner;
    this.before = before;
    this.head = head;
  }

  /**
   * The files of a bucket that the writes have brought or taken away; null where that is not known,
   * because commits have expired, or because the table has gone back.
   */
  @Nullable List<StoredFile> in(List<Serializable> partition) {
    if (before == null || !SnapshotUtil.isAncestorOf(head, before, table::snapshot)) {
      return null;
    }
    Map<List<Serializable>, List<StoredFile>> all = files;
    if (all == null) {
      Map<List<Serializable>, List<StoredFile>> found = new HashMap<>();
      planner
          .filesTouchedBy(CommitRange.of(table, before, head))
          .forEach(
              (bucket, tasks) ->
                  found.put(bucket, tasks.stream().map(task -> stored(task.file())).toList()));
      files = found;
      all = found;
    }
    return all.getOrDefault(partition, List.of());
  }

  private static StoredFile stored(DataFile file) {
    return new StoredFile(file.location(), file.fileSizeInBytes(), file.recordCount(), List.of());
  }
}
