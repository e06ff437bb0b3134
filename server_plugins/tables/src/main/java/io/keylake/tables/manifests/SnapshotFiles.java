package io.keylake.tables.manifests;

import io.keylake.tables.PromptExecutor;
import io.keylake.tables.manifests.DeletesByFile.Entry;
import io.keylake.tables.manifests.KeptManifests.Manifests;
import io.keylake.tables.manifests.KeptManifests.Partition;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicReferenceArray;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.StructLikeMap;
import org.apache.iceberg.util.Tasks;

/**
 * The files of a snapshot that may have rows of a filter, with the delete files that take rows out
 * of them: those that Iceberg's planning finds. Manifests that the process keeps are not read
 * again, and of others only those that may name such files.
 */
public final class SnapshotFiles {
  private final KeptManifests kept;
  private final FileIO store;
  private final Map<Integer, PartitionSpec> specs;
  private final Manifests manifests;
  private final FileMatcher matcher;
  private final Set<Integer> statistics;

  private SnapshotFiles(
      KeptManifests kept,
      Table table,
      Snapshot snapshot,
      FileMatcher matcher,
      Set<Integer> columns) {
    this.kept = kept;
    this.store = table.io();
    this.specs = table.specs();
    this.manifests = kept.of(snapshot, store);
    this.matcher = matcher;
    this.statistics = columns;
  }

  /**
   * The files; empty where a delete file may be of several data files, which Iceberg has to plan.
   *
   * @param schema has the names that the filter uses
   * @param statistics field ids of the columns whose statistics come along
   */
  public static Optional<List<FileScanTask>> of(
      Table table, Snapshot snapshot, Schema schema, Expression filter, Set<Integer> statistics) {
    return of(KeptManifests.ofProcess(), table, snapshot, schema, filter, statistics);
  }

  static Optional<List<FileScanTask>> of(
      KeptManifests kept,
      Table table,
      Snapshot snapshot,
      Schema schema,
      Expression filter,
      Set<Integer> statistics) {
    FileMatcher matcher = new FileMatcher(schema, filter, table.specs());
    return new SnapshotFiles(kept, table, snapshot, matcher, statistics).found();
  }

  private Optional<List<FileScanTask>> found() {
    List<ManifestFile> wanted = manifests.data().stream().filter(matcher::mayMatch).toList();
    DeletesByFile deletes = new DeletesByFile();
    for (List<Entry> entries : read(deleteManifests(wanted), this::deletes)) {
      for (Entry entry : entries) {
        if (!deletes.add(entry)) {
          return Optional.empty();
        }
      }
    }
    boolean isKept = kept.areFew(count(wanted), statistics);
    List<FileScanTask> files = new ArrayList<>();
    for (List<Partition> partitions : read(wanted, manifest -> data(manifest, isKept))) {
      for (Partition partition : partitions) {
        if (matcher.mayMatch(partition.specId(), partition.partition())) {
          PartitionSpec spec = matcher.spec(partition.specId());
          for (DataFile file : partition.files()) {
            if (matcher.mayMatch(file)) {
              files.add(new ListedFile(file, deletes.of(file), spec));
            }
          }
        }
      }
    }
    return Optional.of(files);
  }

  /** Delete files lie in the partitions of their data files. */
  private List<ManifestFile> deleteManifests(List<ManifestFile> data) {
    return data.isEmpty()
        ? List.of()
        : manifests.deletes().stream().filter(matcher::mayMatch).toList();
  }

  private static long count(List<ManifestFile> manifests) {
    return manifests.stream().mapToLong(SnapshotFiles::count).sum();
  }

  private static long count(ManifestFile manifest) {
    Integer added = manifest.addedFilesCount();
    Integer existing = manifest.existingFilesCount();
    return added == null || existing == null ? Integer.MAX_VALUE : (long) added + existing;
  }

  /** Reads manifests, several at once where the store is slow. */
  private static <T> List<T> read(List<ManifestFile> manifests, Function<ManifestFile, T> reading) {
    AtomicReferenceArray<T> all = new AtomicReferenceArray<>(manifests.size());
    Tasks.range(manifests.size())
        .executeWith(new PromptExecutor())
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(number -> all.set(number, reading.apply(manifests.get(number))));
    return IntStream.range(0, manifests.size()).mapToObj(all::get).toList();
  }

  private List<Partition> data(ManifestFile manifest, boolean isKept) {
    return isKept
        ? kept.data(manifest, statistics, () -> partitions(manifest, file -> true))
        : partitions(
            manifest,
            file -> matcher.mayMatch(file.specId(), file.partition()) && matcher.mayMatch(file));
  }

  private List<Partition> partitions(ManifestFile manifest, Predicate<DataFile> isWanted) {
    PartitionSpec spec = matcher.spec(manifest.partitionSpecId());
    StructLikeMap<Partition> byPartition = StructLikeMap.create(spec.partitionType());
    List<Partition> inOrder = new ArrayList<>();
    try (ManifestReader<DataFile> files = ManifestFiles.read(manifest, store, specs)) {
      for (DataFile file : files) { // one object, for one file after the other
        if (isWanted.test(file)) {
          Partition partition = byPartition.get(file.partition());
          if (partition == null) {
            StructLike own = file.copyWithoutStats().partition();
            partition = new Partition(spec.specId(), own, new ArrayList<>());
            byPartition.put(own, partition);
            inOrder.add(partition);
          }
          partition.files().add(KeptFile.of(file, partition.partition(), statistics));
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return List.copyOf(inOrder);
  }

  private List<Entry> deletes(ManifestFile manifest) {
    return kept.deletes(
        manifest,
        () -> {
          List<Entry> all = new ArrayList<>();
          try (ManifestReader<DeleteFile> files =
              ManifestFiles.readDeleteManifest(manifest, store, specs)) {
            files.forEach(file -> all.add(Entry.of(file)));
          } catch (IOException e) {
            throw new UncheckedIOException(e);
          }
          return List.copyOf(all);
        });
  }
}
