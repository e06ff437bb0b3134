package io.keylake.tables.planning;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.Presence;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.Settling;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.lateness.FileOrder;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.Overlay;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Plans a merged read from manifests alone: which files, in which sections, and what of them has to
 * be opened.
 *
 * <ol>
 *   <li>Files that cannot hold a wanted key are dropped by Iceberg's own planning.
 *   <li>The files of a bucket are cut into sections. A section that cannot hold a wanted value is
 *       dropped whole; one of one run whose rows are all visible is passed through, and so, without
 *       their order, are the runs of one that is {@link Settled}.
 *   <li>Where the version ranges of the runs do not overlap, the runs are put in version order and
 *       no version is read.
 *   <li>Columns that the same runs carry in every row form one class; a leaf is read only where
 *       rows differ.
 * </ol>
 */
public final class ReadPlanner {
  /**
   * The age of experiments: at equal versions, a value of an experiment is the later write,
   * whatever was compacted.
   */
  private static final long AFTER_MAIN = 1L << 48;

  private final Table table;
  private final KeyedSchema schema;
  private final ReadSpec readSpec;
  private final int keyOrderId;
  private final ValueFilter valueFilter;
  private final SectionPlanner sections;
  private final BucketCounts counts;
  private final int buckets;
  private final Settled settled;
  private final Set<Integer> sizedColumns;
  private final OverlayFiles overlays;

  public ReadPlanner(Table table, KeyedSchema schema, ReadSpec readSpec) {
    this(table, schema, readSpec, readSpec.scope().buckets(table).first());
  }

  /**
   * @param buckets by how many the files are grouped: every file was written for as many, or for a
   *     multiple
   */
  public ReadPlanner(Table table, KeyedSchema schema, ReadSpec readSpec, int buckets) {
    Lineage.check(table, readSpec.snapshotId());
    this.table = table;
    this.schema = schema;
    this.readSpec = readSpec;
    this.keyOrderId = schema.keyOrder(table).orderId();
    this.valueFilter = new ValueFilter(schema, readSpec.valueFilter());
    boolean isInCommitOrder =
        schema.spec().versions() == TableSpec.Versions.COMMIT
            && readSpec.scope().overlays().isEmpty()
            && !table.properties().containsKey(Experiment.VERSIONS_DECIDE);
    this.sections = new SectionPlanner(schema, readSpec, valueFilter, isInCommitOrder);
    this.counts = BucketCounts.of(table);
    this.buckets = buckets;
    this.settled =
        readSpec.snapshotId() == null || readSpec.scope().after() != null
            ? Settled.NOTHING
            : Settled.of(table.snapshot(readSpec.snapshotId())).among(buckets);
    this.sizedColumns = sizedColumns(schema, readSpec);
    this.overlays = OverlayFiles.of(readSpec.scope().overlays(), listing());
  }

  private static Set<Integer> sizedColumns(KeyedSchema schema, ReadSpec readSpec) {
    Set<Integer> ids = new HashSet<>();
    schema.sortKey().forEach(field -> ids.add(field.fieldId()));
    for (NestedField value : schema.values()) {
      if (readSpec.values().contains(value.fieldId())) {
        ids.addAll(storedParts(value));
      }
    }
    return Set.copyOf(ids);
  }

  /** A column with its members: sizes are known of what is stored. */
  private static Set<Integer> storedParts(NestedField field) {
    return TypeUtil.indexById(StructType.of(field)).keySet();
  }

  public ReadPlan plan() {
    List<ReadPlan.Bucket> plans = new ArrayList<>();
    files()
        .forEach(
            (partition, files) ->
                plans.add(
                    new ReadPlan.Bucket(
                        partition, readSpec.isOrdered() ? sections(files) : sectionsApart(files))));
    return new ReadPlan(schema, buckets, plans);
  }

  /** Buckets of older files have to be merged as wholes; others only where an order is wanted. */
  private List<PlannedSection> sectionsApart(List<FileScanTask> files) {
    return counts.apart(files).stream().flatMap(each -> sections(each.files()).stream()).toList();
  }

  /** The files of each bucket that may hold a wanted key. */
  public Map<List<Serializable>, List<FileScanTask>> files() {
    return byBucket(tasks());
  }

  /** The files of each bucket. */
  public Map<List<Serializable>, List<FileScanTask>> byBucket(List<FileScanTask> tasks) {
    tasks.forEach(this::check);
    return counts.grouped(tasks, buckets);
  }

  /** The files of each bucket that the writes of a range have left or taken away. */
  public Map<List<Serializable>, List<FileScanTask>> filesTouchedBy(CommitRange range) {
    return byBucket(listing().touchedIn(range));
  }

  public FileListing listing() {
    return new FileListing(table, schema.table(), readSpec.filter(), statistics());
  }

  private List<FileScanTask> tasks() {
    Long snapshotId = readSpec.snapshotId();
    Long after = readSpec.scope().after();
    if (after != null) {
      return snapshotId == null
          ? List.of()
          : listing().writtenIn(CommitRange.of(table, after, snapshotId));
    }
    List<FileScanTask> tasks = new ArrayList<>(overlays.tasks());
    if (snapshotId != null) {
      tasks.addAll(0, listing().at(snapshotId));
    }
    if (!readSpec.scope().hasLate()) {
      tasks.removeIf(task -> FileMark.isLate(task.file()));
    }
    return tasks;
  }

  /** The sections that the files of one bucket make, in key order. */
  public List<PlannedSection> sections(List<FileScanTask> files) {
    return sections.sections(planned(files), true);
  }

  /** The same where it is not known which rows are superseded: the merge sees that for itself. */
  public List<PlannedSection> sectionsOfAllRows(List<FileScanTask> files) {
    return sections.sections(planned(files).stream().map(PlannedFile::withAllRows).toList(), true);
  }

  /** The sections that some files of one bucket make when they are merged among themselves. */
  public List<PlannedSection> sectionsOfSome(List<FileScanTask> files) {
    return sections.sections(planned(files), false);
  }

  /** The settling of the runs of a bucket that are as old as one of its files. */
  public Settling settling(DataFile file) {
    return FileMark.isLate(file)
        ? Settling.NOT_YET
        : settled.settling(
            partition(file),
            FileMark.isMixed(file) ? file.fileSequenceNumber() : file.dataSequenceNumber());
  }

  private List<Serializable> partition(DataFile file) {
    return counts.partition(file, buckets);
  }

  /** The number of buckets by which the files are grouped. */
  public int buckets() {
    return buckets;
  }

  /** The columns whose statistics planning needs. */
  private Set<Integer> statistics() {
    Set<Integer> ids = schema.statistics(sections.wantedLeaves().keySet());
    ids.addAll(sections.wantedStates().keySet());
    for (NestedField value : schema.values()) {
      if (valueFilter.columns().contains(value.fieldId())) {
        ids.add(value.fieldId());
        ids.add(schema.leafOf(value).fieldId());
      }
    }
    ids.addAll(sizedColumns);
    return ids;
  }

  private void check(FileScanTask task) {
    Integer order = task.file().sortOrderId();
    if (order == null || order != keyOrderId) {
      throw new KeylakeException(
          UNSUPPORTED,
          "file %s is not sorted by key: it was written or rewritten by something that does not know keyed tables; roll back to the snapshot before"
              .formatted(task.file().location()));
    }
    for (DeleteFile deletes : task.deletes()) {
      if (!Settled.isOurs(deletes)) {
        throw new KeylakeException(
            UNSUPPORTED,
            "rows of file %s were deleted by %s, which was not written by keylake and says no version; roll back to the snapshot before"
                .formatted(task.file().location(), deletes.location()));
      }
    }
  }

  private List<PlannedFile> planned(List<FileScanTask> tasks) {
    FileOrder order =
        FileOrder.of(
            tasks.stream()
                .map(FileScanTask::file)
                .filter(file -> overlays.of(file) == null)
                .toList());
    return tasks.stream().map(task -> planned(task, order)).toList();
  }

  private PlannedFile planned(FileScanTask task, FileOrder order) {
    DataFile file = task.file();
    Overlay overlay = overlays.of(file);
    KeyedSchema own = overlay == null ? schema : overlay.schema();
    List<NestedField> wanted = new ArrayList<>();
    Map<Integer, Presence> leaves = new HashMap<>();
    sections
        .wantedLeaves()
        .forEach(
            (id, leaf) -> {
              if (isOfOther(leaf, overlay)) {
                leaves.put(id, Presence.NEVER);
              } else {
                leaves.put(id, FileFacts.presence(file, own, leaf));
                wanted.add(leaf);
              }
            });
    // Columns of experiments do not accumulate, so their files have no states.
    sections
        .wantedStates()
        .forEach(
            (id, state) ->
                leaves.put(
                    id, overlay == null ? FileFacts.presence(file, own, state) : Presence.NEVER));
    return new PlannedFile(
        new StoredFile(
            file.location(),
            file.fileSizeInBytes(),
            file.recordCount(),
            task.deletes().stream().map(DeleteFile::copyWithoutStats).toList(),
            FileFacts.onlyVersion(file, schema)),
        overlay == null ? order.age(file) : file.dataSequenceNumber() + AFTER_MAIN,
        overlay == null && settling(file) == Settling.DONE,
        FileFacts.of(file, own, wanted),
        leaves,
        wantedBytes(file),
        valueFilter.mayMatch(file));
  }

  /** Says that a leaf belongs to files of another kind, of main or of another experiment. */
  private boolean isOfOther(NestedField leaf, @Nullable Overlay overlay) {
    boolean isFact = schema.leaves().field(leaf.fieldId()) == null; // each row has those
    return !isFact && (overlay == null ? overlays.have(leaf) : !overlay.has(leaf));
  }

  /** The bytes of the wanted columns; without sizes of columns, a file counts whole. */
  private long wantedBytes(DataFile file) {
    Map<Integer, Long> sizes = file.columnSizes();
    return sizes == null || sizes.isEmpty()
        ? file.fileSizeInBytes()
        : sizedColumns.stream().mapToLong(id -> sizes.getOrDefault(id, 0L)).sum();
  }

  /**
   * The files of experiments that are read beside a snapshot.
   *
   * @param tasks in the order of the experiments
   * @param byLocation the experiment of each file
   */
  private record OverlayFiles(
      List<Overlay> overlays, List<FileScanTask> tasks, Map<String, Overlay> byLocation) {
    static OverlayFiles of(List<Overlay> overlays, FileListing listing) {
      List<FileScanTask> tasks = new ArrayList<>();
      Map<String, Overlay> byLocation = new HashMap<>();
      for (Overlay overlay : overlays) {
        List<FileScanTask> own = listing.at(overlay.snapshotId());
        own.forEach(task -> byLocation.put(task.file().location(), overlay));
        tasks.addAll(own);
      }
      return new OverlayFiles(overlays, List.copyOf(tasks), Map.copyOf(byLocation));
    }

    /** The experiment of a file; null for a file of the snapshot. */
    @Nullable Overlay of(DataFile file) {
      return byLocation.get(file.location());
    }

    boolean have(NestedField leaf) {
      return overlays.stream().anyMatch(each -> each.has(leaf));
    }
  }
}
