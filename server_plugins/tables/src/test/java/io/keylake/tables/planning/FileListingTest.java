package io.keylake.tables.planning;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;

/** Files for queries, chosen among those that the process keeps, are those that Iceberg chooses. */
class FileListingTest {
  private static final int ROUNDS = 60;

  private final Random random = new Random(4);
  private int chosen;
  private int leftOut;

  private static MemoryTable table(int number, int buckets) {
    return switch (number % 4) {
      case 0 -> MemoryTable.partitioned("explicit", buckets);
      case 1 -> MemoryTable.create("explicit", List.of("k", "l"), buckets, Set.of());
      case 2 -> MemoryTable.create("explicit", List.of("k"), buckets, Set.of("k"));
      default -> MemoryTable.create("explicit", List.of("k"), buckets, Set.of());
    };
  }

  private static FileListing listing(MemoryTable table, Expression filter) {
    Set<Integer> statistics =
        List.of("k", "l", "_merge_info.version").stream()
            .map(name -> table.schema.table().findField(name).fieldId())
            .collect(Collectors.toSet());
    return new FileListing(table.table, table.schema.table(), filter, statistics);
  }

  private Expression filter(int depth, int buckets) {
    long number = random.nextInt(30);
    return switch (random.nextInt(depth > 2 ? 6 : 9)) {
      case 0 -> Expressions.equal("k", number);
      case 1 -> Expressions.lessThan("k", number);
      case 2 -> Expressions.equal("l", number % 3);
      case 3 -> Expressions.in("k", number, number + 2);
      case 4 -> Expressions.equal(Expressions.bucket("k", buckets), (int) number % buckets);
      case 5 -> Expressions.alwaysTrue();
      case 6 -> Expressions.not(filter(depth + 1, buckets));
      case 7 -> Expressions.and(filter(depth + 1, buckets), filter(depth + 1, buckets));
      default -> Expressions.or(filter(depth + 1, buckets), filter(depth + 1, buckets));
    };
  }

  private static Set<String> locations(List<FileScanTask> files) {
    Set<String> locations = new TreeSet<>();
    files.forEach(task -> locations.add(task.file().location()));
    return locations;
  }

  @Test
  void theyAreChosenAsIcebergDoes() {
    for (int round = 0; round < ROUNDS; round++) {
      int buckets = 1 + random.nextInt(4);
      MemoryTable table = table(round, buckets);
      RandomWrites.commit(random, table, "explicit");
      for (Snapshot snapshot : table.table.snapshots()) {
        FileListing listing = listing(table, filter(0, buckets));
        Set<String> expected = locations(listing.at(snapshot.snapshotId()));
        Set<String> all =
            locations(listing(table, Expressions.alwaysTrue()).at(snapshot.snapshotId()));
        assertEquals(
            expected, locations(listing.forQuery(snapshot.snapshotId())), listing.toString());
        chosen += expected.size();
        leftOut += all.size() - expected.size();
      }
    }
    assertTrue(chosen > 100 && leftOut > 100, chosen + " chosen, " + leftOut + " left out");
  }

  @Test
  void aSecondQueryOfASnapshotReadsNoManifest() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a @1");
    table.commit("5,6 a @2");
    assertEquals(Set.of("1.1", "2.1"), files(table, Expressions.alwaysTrue()));
    for (ManifestFile manifest : table.table.currentSnapshot().dataManifests(table.table.io())) {
      table.table.io().deleteFile(manifest.path());
    }
    assertEquals(Set.of("2.1"), files(table, Expressions.equal("k", 5L)));
    assertEquals(Set.of(), files(table, Expressions.equal("k", 3L)));
  }

  private static Set<String> files(MemoryTable table, Expression filter) {
    return locations(listing(table, filter).forQuery(table.head()));
  }
}
