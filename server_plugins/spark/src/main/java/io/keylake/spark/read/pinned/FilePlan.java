package io.keylake.spark.read.pinned;

import io.keylake.tables.GuestApi;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.BatchScan;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTask;
import org.apache.iceberg.io.CloseableIterable;
import org.jspecify.annotations.Nullable;

/** The data files of a scan: planned once by Iceberg, then kept, then replaced. */
@GuestApi
public final class FilePlan {
  private boolean isKept;
  private @Nullable List<FileScanTask> files;

  /** Keeps what is planned from now on, so that it is planned once. */
  public void keep() {
    isKept = true;
  }

  public void replace(List<FileScanTask> others) {
    files = others;
  }

  /** The files that were kept; none if nothing was planned. */
  public List<FileScanTask> files() {
    return files == null ? List.of() : files;
  }

  CloseableIterable<ScanTask> of(BatchScan scan) {
    if (!isKept) {
      return scan.planFiles();
    }
    if (files == null) {
      files = planned(scan);
    }
    return CloseableIterable.withNoopClose(List.<ScanTask>copyOf(files));
  }

  private static List<FileScanTask> planned(BatchScan scan) {
    List<FileScanTask> all = new ArrayList<>();
    try (CloseableIterable<ScanTask> tasks = scan.planFiles()) {
      tasks.forEach(task -> all.add(task.asFileScanTask()));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return all;
  }
}
