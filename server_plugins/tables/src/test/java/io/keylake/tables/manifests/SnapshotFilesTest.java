package io.keylake.tables.manifests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.planning.RandomWrites;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.SnapshotUtil;
import org.junit.jupiter.api.Test;

/**
 * Files chosen among those that the process keeps are those that Iceberg chooses, to the last fact.
 */
class SnapshotFilesTest {
  private static final int ROUNDS = 60;
  private static final long AMPLE = 1 << 24;

  private final Random random = new Random(4);
  private int chosen;
  private int leftOut;
  private int withDeletes;

  private static MemoryTable table(int number, int buckets) {
    return switch (number % 4) {
      case 0 -> MemoryTable.partitioned("explicit", buckets);
      case 1 -> MemoryTable.create("explicit", List.of("k", "l"), buckets, Set.of());
      case 2 -> MemoryTable.create("explicit", List.of("k"), buckets, Set.of("k"));
      default -> MemoryTable.create("explicit", List.of("k"), buckets, Set.of());
    };
  }

  private static Set<Integer> statistics(MemoryTable table) {
    return List.of("k", "l", "_merge_info.version").stream()
        .map(name -> table.schema.table().findField(name).fieldId())
        .collect(Collectors.toSet());
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

  private static List<FileScanTask> byIceberg(
      MemoryTable table, Snapshot snapshot, Expression filter) {
    List<String> columns =
        statistics(table).stream()
            .map(SnapshotUtil.schemaFor(table.table, snapshot.snapshotId())::findColumnName)
            .filter(Objects::nonNull)
            .toList();
    try (CloseableIterable<FileScanTask> tasks =
        table
            .table
            .newScan()
            .useSnapshot(snapshot.snapshotId())
            .filter(filter)
            .ignoreResiduals()
            .includeColumnStats(columns)
            .planWith(MemoryTables.THIS_THREAD)
            .planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<FileScanTask> kept(
      KeptManifests kept, MemoryTable table, Snapshot snapshot, Expression filter) {
    return SnapshotFiles.of(
            kept, table.table, snapshot, table.schema.table(), filter, statistics(table))
        .orElseThrow();
  }

  /** All that a manifest says of files, by location. */
  private static Map<String, Map<String, Object>> facts(List<FileScanTask> tasks) {
    Map<String, Map<String, Object>> all = new TreeMap<>();
    for (FileScanTask task : tasks) {
      DataFile file = task.file();
      Map<String, Object> facts = new LinkedHashMap<>();
      facts.put("manifest", file.manifestLocation());
      facts.put("position", file.pos());
      facts.put("content", file.content());
      facts.put("format", file.format());
      facts.put("spec", List.of(file.specId(), task.spec(), file.partition()));
      facts.put("size", List.of(file.recordCount(), file.fileSizeInBytes(), task.length()));
      facts.put("order", file.sortOrderId());
      facts.put("numbers", List.of(file.dataSequenceNumber(), file.fileSequenceNumber()));
      facts.put("first row", file.firstRowId());
      facts.put("key", file.keyMetadata());
      facts.put("splits", file.splitOffsets());
      facts.put("sizes", entries(file.columnSizes()));
      facts.put("values", entries(file.valueCounts()));
      facts.put("nulls", entries(file.nullValueCounts()));
      facts.put("nans", entries(file.nanValueCounts()));
      facts.put("lower", entries(file.lowerBounds()));
      facts.put("upper", entries(file.upperBounds()));
      facts.put(
          "deletes",
          task.deletes().stream()
              .map(DeleteFile::location)
              .collect(Collectors.toCollection(TreeSet::new)));
      all.put(file.location(), facts);
    }
    return all;
  }

  /** A map as somebody who goes through it sees it, and who asks for each value. */
  private static <V> Object entries(Map<Integer, V> map) {
    Map<Integer, V> all = new HashMap<>();
    if (map != null) {
      map.forEach(
          (column, value) -> {
            assertEquals(value, map.get(column));
            assertTrue(map.containsKey(column));
            all.put(column, value);
          });
    }
    return map == null ? "none" : all;
  }

  private void delete(MemoryTable table) {
    List<FileScanTask> files =
        byIceberg(table, table.table.currentSnapshot(), Expressions.alwaysTrue());
    RowDelta delta = table.table.newRowDelta();
    for (FileScanTask task : files) {
      if (random.nextInt(3) == 0) {
        delta.addDeletes(deletes(table.table, task.file()));
        withDeletes++;
      }
    }
    delta.commit();
  }

  /** From format 3 on, Iceberg takes deletion vectors alone. */
  private DeleteFile deletes(Table table, DataFile of) {
    FileMetadata.Builder deletes =
        FileMetadata.deleteFileBuilder(table.specs().get(of.specId()))
            .ofPositionDeletes()
            .withFileSizeInBytes(10)
            .withRecordCount(2)
            .withPartition(of.partition())
            .withReferencedDataFile(of.location());
    String name = "deletes-" + random.nextInt(1 << 30);
    return TableUtil.formatVersion(table) > 2
        ? deletes
            .withPath(name + ".puffin")
            .withFormat("puffin")
            .withContentOffset(4)
            .withContentSizeInBytes(6)
            .build()
        : deletes.withPath(name + ".parquet").withFormat("parquet").build();
  }

  @Test
  void theyAreChosenAsIcebergDoes() {
    for (int round = 0; round < ROUNDS; round++) {
      int buckets = 1 + random.nextInt(4);
      MemoryTable table = table(round, buckets);
      RandomWrites.commit(random, table, "explicit");
      table.table.refresh();
      if (random.nextBoolean()) {
        table.table.updateProperties().set("format-version", "3").commit();
      }
      if (random.nextBoolean()) {
        delete(table);
      }
      // Of the second, no table is kept: each manifest is read for its filter.
      List<KeptManifests> caches = List.of(new KeptManifests(AMPLE), new KeptManifests(0));
      table.table.refresh();
      for (Snapshot snapshot : table.table.snapshots()) {
        Expression filter = filter(0, buckets);
        Map<String, Map<String, Object>> expected = facts(byIceberg(table, snapshot, filter));
        for (KeptManifests cache : caches) {
          String told = filter + " of " + snapshot;
          assertEquals(expected, facts(kept(cache, table, snapshot, filter)), told);
        }
        chosen += expected.size();
        leftOut += byIceberg(table, snapshot, Expressions.alwaysTrue()).size() - expected.size();
      }
    }
    assertTrue(chosen > 100 && leftOut > 100, chosen + " chosen, " + leftOut + " left out");
    assertTrue(withDeletes > 10, withDeletes + " files with deletes");
  }

  @Test
  void aCommitLeavesTheManifestsBeforeItKept() {
    MemoryTable table = MemoryTable.create("explicit");
    KeptManifests kept = new KeptManifests(AMPLE);
    table.commit("1,2 a @1");
    table.commit("5,6 a @2");
    assertEquals(Set.of("1.1", "2.1"), files(kept, table, Expressions.alwaysTrue()));
    for (ManifestFile manifest : table.table.currentSnapshot().dataManifests(table.table.io())) {
      table.table.io().deleteFile(manifest.path());
    }
    assertEquals(Set.of("2.1"), files(kept, table, Expressions.equal("k", 5L)));
    assertEquals(Set.of(), files(kept, table, Expressions.equal("k", 3L)));
    table.commit("7 a @3");
    assertEquals(Set.of("1.1", "2.1", "3.1"), files(kept, table, Expressions.alwaysTrue()));
  }

  private static Set<String> files(KeptManifests kept, MemoryTable table, Expression filter) {
    table.table.refresh();
    return facts(kept(kept, table, table.table.currentSnapshot(), filter)).keySet();
  }

  @Test
  void deletesOfSeveralFilesAreLeftToIceberg() {
    MemoryTable table = MemoryTable.create("explicit");
    table.commit("1,2 a @1");
    DataFile file =
        byIceberg(table, table.table.currentSnapshot(), Expressions.alwaysTrue()).get(0).file();
    table
        .table
        .newRowDelta()
        .addDeletes(
            FileMetadata.deleteFileBuilder(table.table.spec())
                .ofPositionDeletes()
                .withPath("of-any")
                .withFormat("parquet")
                .withFileSizeInBytes(10)
                .withRecordCount(2)
                .withPartition(file.partition())
                .build())
        .commit();
    Snapshot head = table.table.currentSnapshot();
    Expression all = Expressions.alwaysTrue();
    assertTrue(
        SnapshotFiles.of(
                new KeptManifests(AMPLE),
                table.table,
                head,
                table.schema.table(),
                all,
                statistics(table))
            .isEmpty());
  }

  @Test
  void theirBytesAreBounded() {
    MemoryTable table = MemoryTable.create("explicit");
    KeptManifests kept = new KeptManifests(20_000);
    for (int commit = 0; commit < 60; commit++) {
      table.commit(commit + " a @1", (commit + 100) + " a @1");
      files(kept, table, Expressions.equal("k", (long) commit));
      assertTrue(kept.bytes() <= 20_000, kept.bytes() + " bytes");
    }
    assertTrue(kept.bytes() > 5_000, kept.bytes() + " bytes");
  }
}
