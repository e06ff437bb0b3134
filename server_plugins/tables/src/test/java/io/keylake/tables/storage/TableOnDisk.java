package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.TableDefinition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;

/** A keyed table in a folder. Its data files have the names that writers give, and are empty. */
final class TableOnDisk {
  private final Path location;
  private final FileIO store;
  private final AtomicReference<String> metadata = new AtomicReference<>();

  TableOnDisk(Path location, FileIO store) {
    this.location = location;
    this.store = store;
    TableDefinition definition = MemoryTable.definition();
    Schema schema = definition.icebergSchema();
    new Operations()
        .commit(
            null,
            TableMetadata.newTableMetadata(
                schema,
                definition.partitionSpec(schema),
                definition.sortOrder(schema),
                location.toString(),
                definition.properties(Map.of())));
  }

  /** A client has its own, and does not see by itself what others commit. */
  private final class Operations extends BaseMetastoreTableOperations {
    @Override
    protected String tableName() {
      return "shop.orders";
    }

    @Override
    public FileIO io() {
      return store;
    }

    @Override
    protected void doRefresh() {
      refreshFromMetadataLocation(metadata.get());
    }

    @Override
    protected void doCommit(TableMetadata base, TableMetadata next) {
      String before = base == null ? null : base.metadataFileLocation();
      String after = writeNewMetadataIfRequired(base == null, next);
      if (!metadata.compareAndSet(before, after)) {
        throw new CommitFailedException("somebody else was faster");
      }
    }
  }

  MemoryTable opened() {
    return MemoryTable.of(new BaseTable(new Operations(), "shop.orders"));
  }

  /** A data file with rows as {@link MemoryTable#stored} reads them, not committed yet. */
  DataFile written(String rows) {
    MemoryTable table = opened();
    return table.file(newFile("").toString(), table.stored(rows));
  }

  /** An empty file, named as a writer names it. */
  Path newFile(String operation) {
    try {
      Path data = Files.createDirectories(location.resolve("data"));
      String name = "00000-1-%s%s-00001.parquet".formatted(operation, UUID.randomUUID());
      return Files.createFile(data.resolve(name));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  Set<Path> files() {
    try (Stream<Path> all = Files.walk(location)) {
      return all.filter(Files::isRegularFile).collect(Collectors.toCollection(TreeSet::new));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** Makes all files look as if they had been written then. */
  void age(Instant to) {
    files().forEach(path -> age(path, to));
  }

  static void age(Path path, Instant to) {
    try {
      Files.setLastModifiedTime(path, FileTime.from(to));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** What the snapshots that the table has need, as a scan of each finds it. */
  Set<Path> needed() {
    Table table = opened().table;
    Set<Path> needed = new TreeSet<>();
    for (Snapshot snapshot : table.snapshots()) {
      needed.add(Path.of(snapshot.manifestListLocation()));
      for (ManifestFile manifest : snapshot.allManifests(table.io())) {
        needed.add(Path.of(manifest.path()));
      }
      for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
        try (CloseableIterable<DeleteFile> deletes =
            ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
          deletes.forEach(file -> needed.add(Path.of(file.location()))); // of files that went, too
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
      TableScan scan = table.newScan().useSnapshot(snapshot.snapshotId());
      try (CloseableIterable<FileScanTask> tasks =
          scan.planWith(MemoryTables.THIS_THREAD).planFiles()) {
        for (FileScanTask task : tasks) {
          needed.add(Path.of(task.file().location()));
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return needed;
  }

  void assertNothingIsMissing(String after) {
    Set<Path> missing = needed();
    missing.removeAll(files());
    assertEquals(Set.of(), missing, "deleted, though needed, " + after);
  }
}
