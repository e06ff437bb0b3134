package io.keylake.tables.simulator;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeSet;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;

/** The laws about files: what a snapshot needs is there, and in the end nothing else. */
final class Laws {
  private final SimulatedStore store;
  private final FileIO truth;
  private final Map<Long, Set<String>> needed = new HashMap<>(); // by snapshot
  private final Map<String, Set<String>> content = new HashMap<>(); // by manifest

  Laws(SimulatedStore store) {
    this.store = store;
    this.truth = store.reachedBy(null);
  }

  /** All that the snapshots of a table need is there, whole. */
  void checkFiles(TableMetadata table) {
    for (Snapshot snapshot : table.snapshots()) {
      if (!needed.containsKey(snapshot.snapshotId())) {
        for (String path : needed(snapshot, table)) {
          SimulatedStore.Stored file = store.files.get(path);
          if (file == null || file.isTorn()) {
            throw Model.broken(
                "snapshot %d needs %s, which is %s"
                    .formatted(snapshot.snapshotId(), path, file == null ? "not there" : "torn"));
          }
        }
      }
    }
  }

  /** No snapshot needs a file that is deleted. */
  void checkDeleted(String path, TableMetadata table) {
    if (path.equals(table.metadataFileLocation())) {
      throw Model.broken("the metadata of the table was deleted: " + path);
    }
    for (Snapshot snapshot : table.snapshots()) {
      if (needed(snapshot, table).contains(path)) {
        throw Model.broken(
            "%s was deleted, which snapshot %d needs".formatted(path, snapshot.snapshotId()));
      }
    }
  }

  /** No data file and no manifest is there which no snapshot needs. */
  void checkNothingIsLeft(TableMetadata table) {
    Set<String> left = new TreeSet<>(store.files.keySet());
    left.removeIf(path -> path.endsWith(".metadata.json"));
    table.snapshots().forEach(each -> left.removeAll(needed(each, table)));
    if (!left.isEmpty()) {
      throw Model.broken("no snapshot needs %s, and they are still there".formatted(left));
    }
  }

  /** The files of a snapshot that the table has, or had. */
  Set<String> needed(long snapshotId) {
    return Objects.requireNonNull(needed.get(snapshotId), "it was checked when it came");
  }

  private Set<String> needed(Snapshot snapshot, TableMetadata table) {
    return needed.computeIfAbsent(
        snapshot.snapshotId(),
        id -> {
          Set<String> paths = new HashSet<>();
          paths.add(snapshot.manifestListLocation());
          if (!store.files.containsKey(snapshot.manifestListLocation())) {
            return paths;
          }
          for (ManifestFile manifest : snapshot.allManifests(truth)) {
            paths.add(manifest.path());
            paths.addAll(content(manifest, table));
          }
          return paths;
        });
  }

  private Set<String> content(ManifestFile manifest, TableMetadata table) {
    if (!store.files.containsKey(manifest.path())) {
      return Set.of();
    }
    return content.computeIfAbsent(
        manifest.path(),
        path -> {
          Set<String> paths = new HashSet<>();
          try (CloseableIterable<? extends ContentFile<?>> files =
              manifest.content() == ManifestContent.DATA
                  ? ManifestFiles.read(manifest, truth, table.specsById())
                  : ManifestFiles.readDeleteManifest(manifest, truth, table.specsById())) {
            files.forEach(file -> paths.add(file.location()));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          return paths;
        });
  }
}
