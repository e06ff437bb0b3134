package io.keylake.tables.storage;

import io.keylake.tables.FileNames;
import io.keylake.tables.Machine;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ReachableFileUtil;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.Tasks;

/**
 * All files that a table needs, by their names, which are unique, however their locations are
 * spelled: of every snapshot that it has, on whatever branch or tag, of the metadata that its log
 * names, and of statistics.
 */
final class KnownFiles {
  private static final List<String> PATH = List.of("file_path");

  private final Table table;
  private final Set<String> metadata = new HashSet<>();
  private final Map<String, ManifestFile> manifests = new HashMap<>(); // by location

  private KnownFiles(Table table) {
    this.table = table;
  }

  /** The files that the table knows as it was last refreshed. */
  static KnownFiles of(Table table) {
    KnownFiles known = new KnownFiles(table);
    ReachableFileUtil.metadataFileLocations(table, false).forEach(known::addMetadata);
    ReachableFileUtil.manifestListLocations(table).forEach(known::addMetadata);
    ReachableFileUtil.statisticsFilesLocations(table).forEach(known::addMetadata);
    for (Snapshot snapshot : table.snapshots()) {
      for (ManifestFile manifest : snapshot.allManifests(table.io())) {
        known.addMetadata(manifest.path());
        known.manifests.put(manifest.path(), manifest);
      }
    }
    return known;
  }

  private void addMetadata(String location) {
    metadata.add(FileNames.of(location));
  }

  boolean hasMetadata(String name) {
    return metadata.contains(name);
  }

  /** The locations of those of some files that are not needed. */
  List<String> unneeded(Collection<String> locations) {
    Map<String, String> byName = new ConcurrentHashMap<>();
    locations.forEach(location -> byName.put(FileNames.of(location), location));
    metadata.forEach(byName::remove);
    if (!byName.isEmpty()) {
      Tasks.foreach(manifests.values())
          .executeWith(Machine.here().workers())
          .stopOnFailure()
          .throwFailureWhenFinished()
          .run(manifest -> removeContent(manifest, byName));
    }
    return List.copyOf(byName.values());
  }

  private void removeContent(ManifestFile manifest, Map<String, String> byName) {
    try (CloseableIterable<? extends ContentFile<?>> files = content(manifest)) {
      files.forEach(file -> byName.remove(FileNames.of(file.location())));
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read manifest " + manifest.path(), e);
    }
  }

  private CloseableIterable<? extends ContentFile<?>> content(ManifestFile manifest) {
    return manifest.content() == ManifestContent.DATA
        ? ManifestFiles.read(manifest, table.io(), table.specs()).select(PATH)
        : ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs()).select(PATH);
  }
}
