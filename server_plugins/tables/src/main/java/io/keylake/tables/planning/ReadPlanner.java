package io.keylake.tables.planning;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.Settling;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
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
  private final Table table;
  private final KeyedSchema schema;
  private final Wish wish;
  private final int keyOrderId;
  private final ValueFilter valueFilter;
  private final SectionPlanner sections;
  private final BucketCounts counts;
  private final int buckets;
  private final Settled settled;
  private final Set<Integer> sizedColumns = new HashSet<>();

  /**
   * What a read wants.
   *
   * @param after if not null, only what commits after this one have written, merged among itself
   * @param filter on key columns only, chooses files: a filter on values could change which version
   *     of a row is the newest
   * @param valueFilter on merged rows, chooses sections; whoever reads applies it to the rows
   * @param values field ids of the wanted value columns
   * @param wanted which rows, and whether with their stamps
   * @param isOrdered whether the rows of a bucket have to come in key order
   */
  public record Wish(
      @Nullable Long snapshotId,
      @Nullable Long after,
      Expression filter,
      Expression valueFilter,
      Set<Integer> values,
      MergeRules.Wanted wanted,
      boolean isOrdered) {
    public Wish {
      values = Set.copyOf(values);
    }

    public Wish(
        @Nullable Long snapshotId,
        Expression filter,
        Set<Integer> values,
        MergeRules.Wanted wanted) {
      this(snapshotId, null, filter, Expressions.alwaysTrue(), values, wanted, true);
    }

    /** All columns of all rows. */
    public static Wish ofAllColumns(
        KeyedSchema schema, @Nullable Long snapshotId, MergeRules.Wanted wanted) {
      Set<Integer> values =
          schema.values().stream().map(NestedField::fieldId).collect(Collectors.toSet());
      return new Wish(snapshotId, Expressions.alwaysTrue(), values, wanted);
    }

    /** Only rows that a filter on key columns selects. */
    Wish where(Expression keyFilter) {
      return new Wish(snapshotId, after, keyFilter, valueFilter, values, wanted, isOrdered);
    }

    /** The same rows in any order. */
    public Wish unordered() {
      return new Wish(snapshotId, after, filter, valueFilter, values, wanted, false);
    }

    boolean stamps() {
      return wanted.hasStamps();
    }
  }

  public ReadPlanner(Table table, KeyedSchema schema, Wish wish) {
    this(table, schema, wish, BucketCounts.of(table).read(wish.snapshotId(), wish.after()).first());
  }

  /**
   * @param buckets by how many the files are grouped: every file was written for as many, or for a
   *     multiple
   */
  public ReadPlanner(Table table, KeyedSchema schema, Wish wish, int buckets) {
    Lineage.check(table, wish.snapshotId());
    this.table = table;
    this.schema = schema;
    this.wish = wish;
    this.keyOrderId = schema.keyOrder(table).orderId();
    this.valueFilter = new ValueFilter(schema, wish.valueFilter());
    this.sections = new SectionPlanner(schema, wish, valueFilter);
    this.counts = BucketCounts.of(table);
    this.buckets = buckets;
    this.settled =
        wish.snapshotId() == null || wish.after() != null
            ? Settled.NOTHING
            : Settled.of(table.snapshot(wish.snapshotId())).among(buckets);
    schema.sortKey().forEach(field -> sizedColumns.add(field.fieldId()));
    for (NestedField value : schema.values()) {
      if (wish.values().contains(value.fieldId())) {
        sizedColumns.addAll(storedParts(value));
      }
    }
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
                        partition, wish.isOrdered() ? sections(files) : sectionsApart(files))));
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
    return new FileListing(table, wish.filter(), statistics());
  }

  private List<FileScanTask> tasks() {
    Long snapshotId = wish.snapshotId();
    Long after = wish.after();
    if (snapshotId == null) {
      return List.of();
    }
    return after == null
        ? listing().at(snapshotId)
        : listing().writtenIn(CommitRange.of(table, after, snapshotId));
  }

  /** The sections that the files of one bucket make, in key order. */
  public List<PlannedSection> sections(List<FileScanTask> files) {
    return sections.sections(files.stream().map(this::planned).toList(), true);
  }

  /** The same where it is not known which rows are superseded: the merge sees that for itself. */
  public List<PlannedSection> sectionsOfAllRows(List<FileScanTask> files) {
    return sections.sections(
        files.stream().map(this::planned).map(PlannedFile::withAllRows).toList(), true);
  }

  /** The sections that some files of one bucket make when they are merged among themselves. */
  public List<PlannedSection> sectionsOfSome(List<FileScanTask> files) {
    return sections.sections(files.stream().map(this::planned).toList(), false);
  }

  /** How far the runs of a bucket are settled that are as old as one of its files. */
  public Settling settling(DataFile file) {
    return settled.settling(partition(file), file.dataSequenceNumber());
  }

  private List<Serializable> partition(DataFile file) {
    return counts.partition(file, buckets);
  }

  /** By how many buckets the files are grouped. */
  public int buckets() {
    return buckets;
  }

  /** The columns whose statistics planning needs. */
  private List<String> statistics() {
    Set<Integer> ids = schema.statistics(sections.wantedLeaves().keySet());
    for (NestedField value : schema.values()) {
      if (valueFilter.columns().contains(value.fieldId())) {
        ids.add(value.fieldId());
        ids.add(schema.leafOf(value).fieldId());
      }
    }
    ids.addAll(sizedColumns);
    return ids.stream().map(schema.table()::findColumnName).toList();
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

  private PlannedFile planned(FileScanTask task) {
    DataFile file = task.file();
    Map<Integer, NestedField> wanted = sections.wantedLeaves();
    Map<Integer, Presence> leaves = new HashMap<>();
    wanted.forEach((id, leaf) -> leaves.put(id, FileFacts.presence(file, leaf)));
    return new PlannedFile(
        new StoredFile(
            file.location(),
            file.fileSizeInBytes(),
            file.recordCount(),
            task.deletes().stream().map(DeleteFile::copyWithoutStats).toList(),
            FileFacts.onlyVersion(file, schema)),
        file.dataSequenceNumber(),
        settled.covers(partition(file), file),
        FileFacts.of(file, schema, wanted.values()),
        leaves,
        wantedBytes(file),
        valueFilter.mayMatch(file));
  }

  /** Without sizes of columns, a file counts whole. */
  private long wantedBytes(DataFile file) {
    Map<Integer, Long> sizes = file.columnSizes();
    return sizes == null || sizes.isEmpty()
        ? file.fileSizeInBytes()
        : sizedColumns.stream().mapToLong(id -> sizes.getOrDefault(id, 0L)).sum();
  }
}
