package io.keylake.tables.check;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.check.Finding.Kind;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.Collection;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.PartitionStatisticsFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.StatisticsFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.Tasks;
import org.jspecify.annotations.Nullable;

/**
 * All files that a table needs, read from the store as they are now, and what is wrong with its
 * metadata:
 *
 * <ol>
 *   <li>the metadata file, and what the properties in it say;
 *   <li>the manifest list of each snapshot, on whatever branch or tag, and its totals;
 *   <li>each manifest once: its length, and the files and rows that its list says;
 *   <li>the files that live manifest entries name, once each.
 * </ol>
 *
 * A part that cannot be read is a finding, and the walk goes on with the others.
 */
public final class TableFiles {
  private final Table table;
  private final boolean areInMemory;
  private final List<NestedField> key;
  private final List<Snapshot> snapshots = new ArrayList<>();
  private final List<Finding> findings = new ArrayList<>();
  private final Map<String, BitSet> needing = new ConcurrentHashMap<>(); // snapshots, by path or id
  private final Map<String, ManifestFile> manifests = new LinkedHashMap<>();
  private final Map<String, NeededFile> files = new ConcurrentHashMap<>();
  private final Map<FileKind, Amount> amounts = new EnumMap<>(FileKind.class);
  private final Map<String, FileKind> kinds = new HashMap<>(); // of metadata, by path

  /** An amount of files. */
  public record Amount(long files, long bytes, long rows) {
    static final Amount NOTHING = new Amount(0, 0, 0);

    Amount and(long moreBytes, long moreRows) {
      return new Amount(files + 1, bytes + moreBytes, rows + moreRows);
    }
  }

  private TableFiles(Table table, boolean areInMemory) {
    this.table = table;
    this.areInMemory = areInMemory;
    this.key = KeyedSchema.of(table).sortKey();
  }

  /** Walks through the metadata of a table, past what a process keeps of it. */
  public static TableFiles of(Table known) {
    String location = TableUtil.metadataFileLocation(known);
    Table stored = new BaseTable(new StaticTableOperations(location, known.io()), known.name());
    List<Finding> found = new ArrayList<>();
    TableFiles walk;
    try {
      walk = new TableFiles(stored, false);
    } catch (KeylakeException e) {
      throw e; // the file is as it was written
    } catch (RuntimeException e) {
      found.add(Finding.unread(known.io(), Kind.UNREADABLE, location, e));
      walk = new TableFiles(known, true);
    }
    walk.findings.addAll(found);
    walk.count(FileKind.METADATA, location, known.io());
    walk.walk();
    return walk;
  }

  private void count(FileKind kind, String location, FileIO io) {
    kinds.put(location, kind);
    long bytes = 0;
    try {
      bytes = io.newInputFile(location).getLength();
    } catch (RuntimeException e) {
      // whoever reads the file says so
    }
    add(kind, bytes, 0);
  }

  private void add(FileKind kind, long bytes, long rows) {
    amounts.merge(kind, new Amount(1, bytes, rows), (one, two) -> one.and(two.bytes(), two.rows()));
  }

  private void walk() {
    findings.addAll(StoredFacts.findings(table));
    table.snapshots().forEach(snapshots::add);
    for (int number = 0; number < snapshots.size(); number++) {
      walk(snapshots.get(number), number);
    }
    Tasks.foreach(manifests.values())
        .executeWith(Machine.here().workers())
        .stopOnFailure()
        .throwFailureWhenFinished()
        .run(this::walk);
    Stream.concat(
            table.statisticsFiles().stream().map(TableFiles::statistics),
            table.partitionStatisticsFiles().stream().map(TableFiles::statistics))
        .forEach(file -> files.put(file.id(), file));
    files.values().forEach(file -> add(file.kind(), file.bytes(), file.rows()));
  }

  private static NeededFile statistics(StatisticsFile file) {
    return NeededFile.ofStatistics(file.path(), file.fileSizeInBytes());
  }

  private static NeededFile statistics(PartitionStatisticsFile file) {
    return NeededFile.ofStatistics(file.path(), file.fileSizeInBytes());
  }

  private void walk(Snapshot snapshot, int number) {
    String location = snapshot.manifestListLocation();
    if (location == null) {
      return; // a snapshot of format 1 names its manifests
    }
    count(FileKind.MANIFEST_LIST, location, table.io());
    need(location, number);
    List<ManifestFile> listed;
    try {
      listed = snapshot.allManifests(table.io());
    } catch (RuntimeException e) {
      findings.add(Finding.unread(table.io(), Kind.UNREADABLE, location, e));
      return;
    }
    checkTotals(snapshot, listed);
    for (ManifestFile manifest : listed) {
      manifests.putIfAbsent(manifest.path(), manifest);
      need(manifest.path(), number);
    }
  }

  private void need(String path, int snapshot) {
    needing.computeIfAbsent(path, any -> new BitSet()).set(snapshot);
  }

  /** Compares the totals of a snapshot with those of the manifests that its list names. */
  private void checkTotals(Snapshot snapshot, List<ManifestFile> listed) {
    String said = snapshot.summary().get(SnapshotSummary.TOTAL_DATA_FILES_PROP);
    long found =
        listed.stream()
            .filter(each -> each.content() == ManifestContent.DATA)
            .mapToLong(TableFiles::liveFiles)
            .sum();
    if (said != null && !said.equals(String.valueOf(found))) {
      findings.add(
          Finding.of(
              Kind.COUNTS,
              snapshot.manifestListLocation(),
              "it names %d data files, and the summary of snapshot %d says %s"
                  .formatted(found, snapshot.snapshotId(), said)));
    }
  }

  private static long liveFiles(ManifestFile manifest) {
    return orNone(manifest.addedFilesCount()) + orNone(manifest.existingFilesCount());
  }

  private static long orNone(@Nullable Number count) {
    return count == null ? 0 : count.longValue();
  }

  private void walk(ManifestFile manifest) {
    Finding length = Finding.ofLength(table.io(), manifest.path(), manifest.length());
    if (length != null) {
      addFinding(manifest, length);
      return;
    }
    long live = 0;
    long rows = 0;
    try (CloseableIterable<? extends ContentFile<?>> entries = entries(manifest)) {
      for (ContentFile<?> entry : entries) {
        live++;
        rows += entry.recordCount();
        NeededFile file = NeededFile.of(entry, key);
        files.putIfAbsent(file.id(), file);
        needing.merge(file.id(), snapshotsOf(manifest), TableFiles::both);
      }
    } catch (IOException | RuntimeException e) {
      addFinding(manifest, Finding.unread(table.io(), Kind.UNREADABLE, manifest.path(), e));
      return;
    }
    long saidRows = orNone(manifest.addedRowsCount()) + orNone(manifest.existingRowsCount());
    boolean isSaid = manifest.addedRowsCount() != null && manifest.existingRowsCount() != null;
    if (live != liveFiles(manifest) || isSaid && rows != saidRows) {
      addFinding(
          manifest,
          Finding.of(
              Kind.COUNTS,
              manifest.path(),
              "it has %d files of %d rows, and its manifest list says %d of %d"
                  .formatted(live, rows, liveFiles(manifest), saidRows)));
      return;
    }
    addFinding(manifest, null);
  }

  /** Files of one table are few beside their manifests' bytes, so one lock does for both. */
  private synchronized void addFinding(ManifestFile manifest, @Nullable Finding finding) {
    kinds.put(manifest.path(), FileKind.MANIFEST);
    add(FileKind.MANIFEST, manifest.length(), 0);
    if (finding != null) {
      findings.add(finding);
    }
  }

  private BitSet snapshotsOf(ManifestFile manifest) {
    return needing.getOrDefault(manifest.path(), new BitSet());
  }

  private static BitSet both(BitSet one, BitSet two) {
    BitSet all = (BitSet) one.clone();
    all.or(two);
    return all;
  }

  private CloseableIterable<? extends ContentFile<?>> entries(ManifestFile manifest) {
    return manifest.content() == ManifestContent.DATA
        ? ManifestFiles.read(manifest, table.io(), table.specs())
        : ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs());
  }

  /** The table as it is stored. */
  public Table table() {
    return table;
  }

  /** The metadata file cannot be read, and what it says is known from memory alone. */
  public boolean areInMemory() {
    return areInMemory;
  }

  /** The damage of metadata. */
  public List<Finding> findings() {
    return List.copyOf(findings);
  }

  /** The files that hold data, deletes and statistics. */
  public Collection<NeededFile> files() {
    return files.values();
  }

  /** The file that was checked under a path; several deletion vectors of one file give one. */
  public @Nullable NeededFile file(String path) {
    NeededFile file = files.get(path);
    return file != null
        ? file
        : files.values().stream()
            .filter(each -> each.location().equals(path))
            .findFirst()
            .orElse(null);
  }

  /** The length that the table says of the file under a path; -1 where it says none. */
  public long bytes(String path) {
    NeededFile file = file(path);
    ManifestFile manifest = manifests.get(path);
    return file != null ? file.bytes() : manifest != null ? manifest.length() : -1;
  }

  /** The kind of the file under a path. */
  public FileKind kind(String path) {
    NeededFile file = file(path);
    return file == null ? kinds.getOrDefault(path, FileKind.METADATA) : file.kind();
  }

  /** The files that were looked at, by kind. */
  public Map<FileKind, Amount> amounts() {
    return Map.copyOf(amounts);
  }

  /** The snapshots, branches and tags that need the file under a path. */
  public Uses uses(String path) {
    NeededFile file = file(path);
    BitSet numbers = needing.get(file == null ? path : file.id());
    List<Snapshot> all =
        (numbers == null ? IntStream.range(0, snapshots.size()) : numbers.stream())
            .mapToObj(snapshots::get)
            .sorted(Comparator.comparingLong(Snapshot::sequenceNumber).reversed())
            .toList();
    List<Long> ids = all.stream().map(Snapshot::snapshotId).toList();
    return new Uses(refs(ids, true), refs(ids, false), ids);
  }

  private List<String> refs(List<Long> ids, boolean areBranches) {
    Map<String, SnapshotRef> refs = table.refs();
    return refs.keySet().stream()
        .filter(
            name -> {
              SnapshotRef ref = refs.get(name);
              return ref != null && ref.isBranch() == areBranches && ids.contains(ref.snapshotId());
            })
        .sorted()
        .toList();
  }

  /** The files that some snapshot needs. */
  public List<NeededFile> filesOf(long snapshotId) {
    int number =
        IntStream.range(0, snapshots.size())
            .filter(i -> snapshots.get(i).snapshotId() == snapshotId)
            .findFirst()
            .orElse(-1);
    return number < 0
        ? List.of()
        : files.values().stream()
            .filter(file -> needing.getOrDefault(file.id(), new BitSet()).get(number))
            .toList();
  }

  /** The snapshot that was committed with a sequence number; null where it has expired. */
  public @Nullable Snapshot commit(long order) {
    return snapshots.stream()
        .filter(each -> each.sequenceNumber() == order)
        .findFirst()
        .orElse(null);
  }

  /** All snapshots, the newest first. */
  public List<Snapshot> snapshots() {
    return snapshots.stream()
        .sorted(Comparator.comparingLong(Snapshot::sequenceNumber).reversed())
        .toList();
  }
}
