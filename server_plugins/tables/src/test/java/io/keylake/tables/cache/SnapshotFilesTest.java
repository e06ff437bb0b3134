package io.keylake.tables.cache;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.MemoryTable;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.junit.jupiter.api.Test;

class SnapshotFilesTest {
  private final MemoryTable table = MemoryTable.create("explicit");
  private int planned;

  private Snapshot commit() {
    table.commit("1 a @1", "2 a @1");
    return table.table.currentSnapshot();
  }

  private List<FileScanTask> get(SnapshotFiles files, Snapshot snapshot, Set<Integer> statistics) {
    return files.of(
        snapshot,
        statistics,
        () -> {
          planned++;
          return FileListing.ofAll(table.table).at(snapshot.snapshotId());
        });
  }

  @Test
  void theyAreKeptBySnapshotAndStatistics() {
    SnapshotFiles files = new SnapshotFiles(1 << 20);
    Snapshot first = commit();
    Snapshot second = commit();
    assertEquals(2, get(files, first, Set.of(1)).size());
    assertEquals(4, get(files, second, Set.of(1)).size());
    assertEquals(2, planned);
    assertEquals(2, get(files, first, Set.of(1)).size());
    assertEquals(2, planned);
    get(files, first, Set.of(1, 2));
    assertEquals(3, planned);
  }

  @Test
  void onlyFewFilesAreWorthIt() {
    SnapshotFiles files = new SnapshotFiles(40_000);
    Snapshot first = commit();
    assertTrue(files.areFew(first, Set.of(1)));
    assertFalse(files.areFew(first, Set.of(1, 2, 3, 4, 5, 6, 7, 8)));
    Snapshot second = commit();
    assertFalse(files.areFew(second, Set.of(1)));
  }

  @Test
  void theirBytesAreBounded() {
    SnapshotFiles files = new SnapshotFiles(40_000);
    Snapshot snapshot = commit();
    for (int statistic = 0; statistic < 100; statistic++) {
      get(files, snapshot, Set.of(statistic));
      assertTrue(files.bytes() <= 40_000, files.bytes() + " bytes");
    }
    assertTrue(files.bytes() > 20_000);
  }
}
