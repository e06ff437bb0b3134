package io.keylake.tables.manifests;

import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.BoundedCache.Maker;
import io.keylake.tables.cache.CacheKind;
import io.keylake.tables.manifests.DeletesByFile.Entry;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * Contents of manifests, kept by the process: a manifest never changes, and a commit leaves most of
 * those before it in place, so that the next plan reads the new ones alone.
 *
 * <p>A manifest is known by its location, a name of its own. The id of a snapshot is no help where
 * somebody has copied a table.
 */
final class KeptManifests {
  private static final int BYTES_OF_MANIFEST = 800;
  private static final int BYTES_OF_DELETES = 1500;

  /** About the bytes of a data file, and of its statistics of one column. */
  private static final int BYTES_OF_FILE = 450;

  private static final int BYTES_OF_STATISTICS = 70;

  /** The part of all bytes for lists of manifests, and that for delete files. */
  private static final int SMALL_PART = 8;

  /** The part of what may be kept that one snapshot may take. */
  private static final int PART = 2;

  private static final KeptManifests OF_PROCESS =
      new KeptManifests(CacheKind.MANIFESTS.bytesOfHeap());

  private final long mostBytes;
  private final BoundedCache<Named, List<Partition>> data;
  private final BoundedCache<Named, List<Entry>> deletes;
  private final BoundedCache<String, Manifests> lists;

  /**
   * A manifest as a snapshot has it: its files have the number of the commit and numbers of rows
   * from the snapshot's list. A commit that is made again after another one keeps its manifests.
   */
  private record Named(
      String manifest, long sequenceNumber, @Nullable Long firstRowId, Set<Integer> statistics) {
    static Named of(ManifestFile manifest, Set<Integer> statistics) {
      return new Named(
          manifest.path(),
          manifest.sequenceNumber(),
          manifest.firstRowId(),
          Set.copyOf(statistics));
    }
  }

  /** The data files of one partition that a manifest names. */
  record Partition(int specId, StructLike partition, List<KeptFile> files) {}

  /** The manifests of a snapshot. */
  record Manifests(List<ManifestFile> data, List<ManifestFile> deletes) {
    long memory() {
      return (long) BYTES_OF_MANIFEST * (1 + data.size() + deletes.size());
    }
  }

  KeptManifests(long bytes) {
    long small = bytes / SMALL_PART;
    this.mostBytes = bytes - 2 * small;
    this.data =
        new BoundedCache<Named, List<Partition>>(mostBytes, (named, all) -> memory(all))
            .listed(CacheKind.MANIFESTS);
    this.deletes =
        new BoundedCache<Named, List<Entry>>(
                small, (name, all) -> (long) BYTES_OF_DELETES * (1 + all.size()))
            .listed(CacheKind.MANIFESTS);
    this.lists =
        new BoundedCache<String, Manifests>(small, (name, manifests) -> manifests.memory())
            .listed(CacheKind.MANIFESTS);
  }

  static KeptManifests ofProcess() {
    return OF_PROCESS;
  }

  private static long memory(List<Partition> partitions) {
    long bytes = BYTES_OF_MANIFEST;
    for (Partition partition : partitions) {
      for (KeptFile file : partition.files) {
        bytes += file.memory();
      }
    }
    return bytes;
  }

  /**
   * The files are few enough to be kept, so that a large table does not put out all others.
   *
   * @param statistics field ids of the columns whose statistics are kept
   */
  boolean areFew(long files, Set<Integer> statistics) {
    return files
        < mostBytes / PART / (BYTES_OF_FILE + (long) BYTES_OF_STATISTICS * statistics.size());
  }

  /** The manifests of a snapshot; some old ones of format 1 have no list of a name. */
  Manifests of(Snapshot snapshot, FileIO store) {
    String list = snapshot.manifestListLocation();
    return list == null ? read(snapshot, store) : lists.get(list, () -> read(snapshot, store));
  }

  private static Manifests read(Snapshot snapshot, FileIO store) {
    return new Manifests(
        List.copyOf(snapshot.dataManifests(store)), List.copyOf(snapshot.deleteManifests(store)));
  }

  /**
   * The data files of a manifest, with the statistics of some columns.
   *
   * @param reading where they are not kept
   */
  <E extends Exception> List<Partition> data(
      ManifestFile manifest, Set<Integer> statistics, Maker<List<Partition>, E> reading) throws E {
    return data.get(Named.of(manifest, statistics), reading);
  }

  /**
   * The delete files of a manifest.
   *
   * @param reading where they are not kept
   */
  <E extends Exception> List<Entry> deletes(ManifestFile manifest, Maker<List<Entry>, E> reading)
      throws E {
    return deletes.get(Named.of(manifest, Set.of()), reading);
  }

  long bytes() {
    return data.bytes() + deletes.bytes() + lists.bytes();
  }
}
