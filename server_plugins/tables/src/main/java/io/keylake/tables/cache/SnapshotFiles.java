package io.keylake.tables.cache;

import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.util.PropertyUtil;

/**
 * All data files of snapshots, kept by the process: queries one after the other read the same
 * snapshot, which never changes, and choose among its files by different filters.
 *
 * <p>A snapshot is known by the list of its manifests, a file with a name of its own. Its id is no
 * help where somebody has copied a table.
 */
public final class SnapshotFiles {
  private static final int BYTES_OF_FILE = 2000;

  /** The bytes of maps of counts, sizes and bounds. */
  private static final int BYTES_OF_STATISTICS = 600;

  /** A snapshot with more than that part of what may be kept is planned for each query. */
  private static final int PART = 4;

  private static final SnapshotFiles OF_PROCESS =
      new SnapshotFiles(CacheKind.FILE_LISTS.bytesOfHeap());

  private final long mostBytes;
  private final BoundedCache<Listed, List<FileScanTask>> all;

  private record Listed(String manifests, Set<Integer> statistics) {
    long bytesOfFile() {
      return BYTES_OF_FILE + (long) BYTES_OF_STATISTICS * statistics.size();
    }
  }

  SnapshotFiles(long mostBytes) {
    this.mostBytes = mostBytes;
    this.all =
        new BoundedCache<Listed, List<FileScanTask>>(
                mostBytes, (listed, files) -> (files.size() + 1) * listed.bytesOfFile())
            .listed(CacheKind.FILE_LISTS);
  }

  public static SnapshotFiles ofProcess() {
    return OF_PROCESS;
  }

  /**
   * All files of a snapshot are few enough to be kept. Of others only those are planned that a
   * query wants.
   */
  public boolean areFew(Snapshot snapshot, Set<Integer> statistics) {
    long files =
        PropertyUtil.propertyAsLong(
            snapshot.summary(), SnapshotSummary.TOTAL_DATA_FILES_PROP, Long.MAX_VALUE);
    return files < mostBytes / PART / listed(snapshot, statistics).bytesOfFile();
  }

  /**
   * All files of a snapshot.
   *
   * @param statistics field ids of the columns whose statistics come along
   * @param planning plans them, where they are not kept
   */
  public List<FileScanTask> of(
      Snapshot snapshot, Set<Integer> statistics, Supplier<List<FileScanTask>> planning) {
    return all.get(listed(snapshot, statistics), () -> List.copyOf(planning.get()));
  }

  private static Listed listed(Snapshot snapshot, Set<Integer> statistics) {
    return new Listed(snapshot.manifestListLocation(), Set.copyOf(statistics));
  }

  long bytes() {
    return all.bytes();
  }
}
