package io.keylake.tables.metadata;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.Settling;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.planning.PlannedFile;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The facts about a keyed table at one snapshot, from its metadata alone: its files, and what
 * reads, compactions and branches make of them.
 */
public final class TableFacts {
  private final Table table;
  private final KeyedSchema schema;
  private final @Nullable Long snapshotId;
  private final Map<Long, Long> timesByOrder = new HashMap<>();

  /**
   * One data file.
   *
   * @param commitOrder its place in the order of commits; of a merged file, that of the youngest
   *     commit in it
   * @param committedAtMicros when that commit was made; null where it has expired
   */
  public record File(
      List<Serializable> partition,
      String location,
      long commitOrder,
      @Nullable Long committedAtMicros,
      Extent extent) {}

  /**
   * The files of one commit, or of one compaction, in one bucket.
   *
   * @param settling a word of {@link Settling}, in small letters
   */
  public record Run(
      List<Serializable> partition,
      long commitOrder,
      @Nullable Long committedAtMicros,
      String settling,
      Extent extent) {}

  /**
   * A range of keys of one bucket in which the same runs overlap, as a read of all columns takes
   * it.
   *
   * @param number its place in the order of keys
   * @param reading how: see {@link Reading}
   */
  public record Section(
      List<Serializable> partition, long number, long runs, String reading, Extent extent) {}

  /** The way in which a read takes a section. */
  private enum Reading {
    /** One run whose rows are the answer as they stand. */
    PASSED_THROUGH,
    /** Several runs, of which the superseded rows are known. */
    SETTLED,
    MERGED
  }

  /** A commit with its place in the order of commits. */
  public record Commit(CommitLog.Entry entry, long commitOrder) {}

  /**
   * A branch or tag.
   *
   * @param commits that main has not; null for a tag, and where the commit that the branch came
   *     from has expired
   * @param maxRefAgeMillis after which it may be forgotten; null for never
   * @param minSnapshotsToKeep at least so many; null for what the table says
   * @param maxSnapshotAgeMillis after which its snapshots may expire; null for what the table says
   */
  public record Reference(
      String name,
      boolean isTag,
      long snapshotId,
      long committedAtMicros,
      @Nullable Long commits,
      @Nullable Long maxRefAgeMillis,
      @Nullable Integer minSnapshotsToKeep,
      @Nullable Long maxSnapshotAgeMillis) {}

  /**
   * @param snapshotId null for a table without a commit
   */
  public TableFacts(Table table, KeyedSchema schema, @Nullable Long snapshotId) {
    this.table = table;
    this.schema = schema;
    this.snapshotId = snapshotId;
    table.snapshots().forEach(each -> timesByOrder.put(each.sequenceNumber(), micros(each)));
  }

  private static long micros(Snapshot snapshot) {
    return snapshot.timestampMillis() * 1000;
  }

  public List<File> files() {
    List<File> files = new ArrayList<>();
    buckets(planner(Wanted.HISTORY))
        .forEach(
            (partition, tasks) ->
                tasks.forEach(
                    task ->
                        files.add(
                            new File(
                                partition,
                                task.file().location(),
                                task.file().dataSequenceNumber(),
                                timesByOrder.get(task.file().dataSequenceNumber()),
                                Extent.of(List.of(task), schema)))));
    return files;
  }

  public List<Run> runs() {
    ReadPlanner planner = planner(Wanted.HISTORY);
    List<Run> runs = new ArrayList<>();
    buckets(planner)
        .forEach(
            (partition, tasks) ->
                byAge(tasks)
                    .forEach(
                        (age, files) ->
                            runs.add(
                                new Run(
                                    partition,
                                    age,
                                    timesByOrder.get(age),
                                    word(planner.settling(files.get(0).file())),
                                    Extent.of(files, schema)))));
    return runs;
  }

  private static Map<Long, List<FileScanTask>> byAge(List<FileScanTask> files) {
    return files.stream()
        .collect(
            Collectors.groupingBy(
                task -> task.file().dataSequenceNumber(), TreeMap::new, Collectors.toList()));
  }

  public List<Section> sections() {
    ReadPlanner planner = planner(Wanted.ROWS);
    List<Section> sections = new ArrayList<>();
    buckets(planner)
        .forEach(
            (partition, tasks) -> {
              Map<String, FileScanTask> byLocation =
                  tasks.stream()
                      .collect(Collectors.toMap(task -> task.file().location(), task -> task));
              long number = 0;
              for (PlannedSection each : planner.sections(tasks)) {
                List<FileScanTask> files =
                    each.files().map(file -> byLocation.get(file.file().location())).toList();
                sections.add(
                    new Section(
                        partition,
                        number++,
                        each.runs().size(),
                        word(reading(each)),
                        Extent.of(files, schema)));
              }
            });
    return sections;
  }

  private static Reading reading(PlannedSection section) {
    if (section.plan().passedThrough()) {
      return Reading.PASSED_THROUGH;
    }
    boolean isSettled =
        section.runs().size() > 1 && section.files().allMatch(PlannedFile::isSettled);
    return isSettled ? Reading.SETTLED : Reading.MERGED;
  }

  /** Newest first. */
  public List<Commit> commits() {
    List<Commit> commits = new ArrayList<>();
    if (snapshotId != null) {
      SnapshotUtil.ancestorsOf(snapshotId, table::snapshot)
          .forEach(
              each -> commits.add(new Commit(CommitLog.Entry.of(each), each.sequenceNumber())));
    }
    return commits;
  }

  /** The branches and tags of the table, by name. */
  public List<Reference> references() {
    List<Reference> references = new ArrayList<>();
    new TreeMap<>(table.refs())
        .forEach(
            (name, ref) ->
                references.add(
                    new Reference(
                        name,
                        ref.isTag(),
                        ref.snapshotId(),
                        micros(table.snapshot(ref.snapshotId())),
                        ahead(name, ref),
                        ref.maxRefAgeMs(),
                        ref.minSnapshotsToKeep(),
                        ref.maxSnapshotAgeMs())));
    return references;
  }

  private @Nullable Long ahead(String name, SnapshotRef ref) {
    if (ref.isTag()) {
      return null;
    }
    try {
      return (long) Publication.of(table, name).commits().commits().size();
    } catch (KeylakeException e) {
      return null; // where it came from has expired
    }
  }

  /**
   * A named reader of the change feed.
   *
   * @param snapshotId up to which it has read; 0 for nothing yet
   * @param committedAtMicros null where that commit has expired, or is none
   * @param commitsBehind null where the position is not on the way to this snapshot
   */
  public record Consumer(
      String name,
      long snapshotId,
      @Nullable Long committedAtMicros,
      @Nullable Long commitsBehind) {}

  /** The consumers of the table, by name. */
  public List<Consumer> consumers() {
    List<Consumer> consumers = new ArrayList<>();
    new Positions(table, Positions.Kind.CONSUMER)
        .all()
        .forEach(
            (name, at) -> {
              Snapshot commit = table.snapshot(at);
              Long committedAt = commit == null ? null : micros(commit);
              consumers.add(new Consumer(name, at, committedAt, behind(at)));
            });
    return consumers;
  }

  private @Nullable Long behind(long at) {
    try {
      return snapshotId == null
          ? 0L
          : (long) CommitRange.of(table, at, snapshotId).commits().size();
    } catch (KeylakeException e) {
      return null;
    }
  }

  private ReadPlanner planner(Wanted wanted) {
    return new ReadPlanner(table, schema, ReadSpec.ofAllColumns(schema, snapshotId, wanted));
  }

  /** The files of buckets in the order of their names, so that nobody has to sort. */
  private static Map<List<Serializable>, List<FileScanTask>> buckets(ReadPlanner planner) {
    Map<List<Serializable>, List<FileScanTask>> buckets =
        new TreeMap<>(Comparator.comparing(List::toString));
    planner.files().forEach((partition, files) -> buckets.put(partition, files));
    return buckets;
  }

  private static String word(Enum<?> value) {
    return value.name().toLowerCase(Locale.ROOT);
  }
}
