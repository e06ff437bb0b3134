package io.keylake.tables.compaction;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.compaction.BucketLayout.File;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.CompactionRule.Pick;
import io.keylake.tables.compaction.CompactionRule.Reason;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Settling;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.FileFacts;
import io.keylake.tables.planning.PlannedFile;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Plans the compaction of a branch from metadata alone:
 *
 * <ol>
 *   <li>Draw each bucket: its runs, and in which sections their files lie. Where there are files
 *       from when the table had fewer buckets, it is such a bucket.
 *   <li>Ask the rules; the first that picks neighbouring runs, or wants them settled, decides.
 *   <li>Of the picked files, leave alone those that are large and overlap no other: they would come
 *       out as they went in.
 * </ol>
 */
public final class CompactionPlanner {
  private final Table table;
  private final KeyedSchema schema;
  private final CompactionPolicy policy;
  private final Instant now;
  private final @Nullable Snapshot snapshot;
  private final BucketCounts counts;
  private final int newest;
  private final long unindexed; // the last commit whose files lack an index
  private final Map<Long, Instant> commitTimes = new HashMap<>();

  public CompactionPlanner(
      Table table, @Nullable String branch, CompactionPolicy policy, Instant now) {
    this(
        table,
        KeyedSchema.ofBranch(table, branch),
        policyOf(table, branch, policy),
        now,
        new CommitLog(table, branch).headId());
  }

  /** A planner of what the policy would make of any snapshot. */
  CompactionPlanner(Table table, CompactionPolicy policy, Instant now, @Nullable Long snapshotId) {
    this(table, KeyedSchema.of(table), policy, now, snapshotId);
  }

  private CompactionPlanner(
      Table table,
      KeyedSchema schema,
      CompactionPolicy policy,
      Instant now,
      @Nullable Long snapshotId) {
    this.table = table;
    this.schema = schema;
    this.policy = policy;
    this.now = now;
    this.snapshot = snapshotId == null ? null : table.snapshot(snapshotId);
    this.counts = BucketCounts.of(table);
    this.newest = schema.spec().buckets();
    this.unindexed = ValueIndexes.lackedUntil(table);
    table.snapshots().forEach(each -> commitTimes.put(each.sequenceNumber(), committedAt(each)));
  }

  /**
   * Files of main and of an experiment are merged when they are read. So none of their rows is
   * settled while there are experiments, and tombstones of main stay.
   */
  private static CompactionPolicy policyOf(
      Table table, @Nullable String branch, CompactionPolicy policy) {
    if (Experiment.ofBranch(table.properties(), branch) != null) {
      return policy.settlingNothing();
    }
    boolean isMain = branch == null || branch.equals(SnapshotRef.MAIN_BRANCH);
    return isMain && !Experiment.all(table.properties()).isEmpty()
        ? policy.settlingNothing().keepingTombstones()
        : policy;
  }

  private static Instant committedAt(Snapshot snapshot) {
    return Instant.ofEpochMilli(snapshot.timestampMillis());
  }

  public CompactionPlan plan() {
    ReadPlanner everything = planner(MergeRules.Wanted.HISTORY);
    Map<List<Serializable>, List<FileScanTask>> buckets = everything.files();
    List<FileScanTask> files = buckets.values().stream().flatMap(List::stream).toList();
    List<CompactionPlan.Choice> choices = new ArrayList<>();
    counts.apart(files).forEach(bucket -> choices.add(choose(everything, bucket)));
    choices.sort(Comparator.comparing(choice -> choice.partition().toString()));
    boolean isSettling = choices.stream().anyMatch(choice -> choice.settling().isPresent());
    return new CompactionPlan(
        schema, snapshot, choices, isSettling ? settlements(choices, buckets) : List.of());
  }

  /**
   * The settlements of all buckets, if there are any: a snapshot is settled as a whole, and what it
   * says of buckets is said of so many as readers see.
   */
  private List<Settlement> settlements(
      List<CompactionPlan.Choice> choices, Map<List<Serializable>, List<FileScanTask>> buckets) {
    ReadPlanner planner = planner(MergeRules.Wanted.ROWS_AND_TOMBSTONES);
    List<Settlement> settlements = new ArrayList<>();
    Map<List<Serializable>, String> reasons = new HashMap<>();
    choices.forEach(each -> each.settling().ifPresent(why -> reasons.put(each.partition(), why)));
    buckets.forEach(
        (partition, all) -> {
          List<FileScanTask> files =
              all.stream().filter(task -> !FileMark.isLate(task.file())).toList();
          List<PlannedSection> open =
              planner.sections(files).stream()
                  .filter(section -> section.runs().size() > 1)
                  .filter(section -> !section.files().allMatch(PlannedFile::isSettled))
                  .toList();
          Set<String> locations =
              open.stream()
                  .flatMap(PlannedSection::files)
                  .map(file -> file.file().location())
                  .collect(Collectors.toSet());
          if (!open.isEmpty()) {
            settlements.add(
                new Settlement(
                    partition,
                    planner.buckets(),
                    new BucketPlan(partition, open.stream().map(PlannedSection::plan).toList()),
                    files.stream()
                        .filter(task -> locations.contains(task.file().location()))
                        .toList(),
                    reasons.getOrDefault(partition, "settled with the other buckets")));
          }
        });
    settlements.sort(Comparator.comparing(each -> each.partition().toString()));
    return settlements;
  }

  private ReadPlanner planner(MergeRules.Wanted wanted) {
    Long snapshotId = snapshot == null ? null : Long.valueOf(snapshot.snapshotId());
    return new ReadPlanner(table, schema, ReadSpec.ofAllColumns(schema, snapshotId, wanted));
  }

  private CompactionPlan.Choice choose(ReadPlanner planner, BucketCounts.Bucket bucket) {
    BucketLayout layout = layout(planner, bucket.files());
    return bucket.files().stream().anyMatch(task -> FileMark.isLate(task.file()))
        ? besideLate(planner, bucket, layout)
        : choice(bucket, layout, bucket.files(), CompactionRule.first(layout, policy), false);
  }

  /**
   * The choice for a bucket that has late files: timely files are merged or settled without them.
   * Where late ones are many or old they become a run like others, or are merged with all of these.
   * What holds tombstones down may be in files that are left out.
   */
  private CompactionPlan.Choice besideLate(
      ReadPlanner planner, BucketCounts.Bucket bucket, BucketLayout layout) {
    LateBacklog backlog = LateBacklog.of(layout, bucket.files(), this::commitTime);
    List<FileScanTask> late = some(bucket.files(), true);
    List<FileScanTask> timely = some(bucket.files(), false);
    Optional<Pick> due = backlog.pick(policy);
    if (due.isPresent()) {
      boolean isOfLate = due.filter(pick -> pick.reason() == Reason.LATE).isPresent();
      return isOfLate && backlog.isApart() && !timely.isEmpty() && !policy.isFull()
          ? choice(bucket, layout, late, due.map(pick -> pick.ofAll(layout(planner, late))), true)
          : choice(bucket, layout, bucket.files(), due, false);
    }
    CompactionPolicy apart = policy.keepingTombstones();
    CompactionPlan.Choice ofTimely =
        besideOthers(bucket, backlog, timely, CompactionRule.first(layout(planner, timely), apart));
    return ofTimely.isEmpty() // late files wait for a merge with the others, but not too many
        ? besideOthers(
            bucket, backlog, late, new FileCountRule().pick(layout(planner, late), apart))
        : ofTimely;
  }

  /** The choice for late files or for timely ones, or for all that cannot be merged apart. */
  private CompactionPlan.Choice besideOthers(
      BucketCounts.Bucket bucket,
      LateBacklog backlog,
      List<FileScanTask> files,
      Optional<Pick> pick) {
    return backlog.isApart() || pick.filter(CompactionPlanner::settles).isPresent()
        ? choice(bucket, backlog.layout(), files, pick, true)
        : choice(
            bucket, backlog.layout(), bucket.files(), pick.map(each -> backlog.between()), false);
  }

  /**
   * The choice that a pick of some files is.
   *
   * @param isApart whether other files may have what their tombstones hold down
   */
  private CompactionPlan.Choice choice(
      BucketCounts.Bucket bucket,
      BucketLayout layout,
      List<FileScanTask> files,
      Optional<Pick> pick,
      boolean isApart) {
    CompactionPolicy own = isApart ? policy.keepingTombstones() : policy;
    Optional<Pick> settling = pick.filter(CompactionPlanner::settles);
    return new CompactionPlan.Choice(
        bucket.partition(),
        layout,
        settling.isPresent()
            ? Optional.empty()
            : pick.flatMap(each -> compaction(bucket, files, each, own)),
        settling.map(Pick::because));
  }

  private static boolean settles(Pick pick) {
    return pick.reason() == Reason.SETTLE;
  }

  private static List<FileScanTask> some(List<FileScanTask> files, boolean isLate) {
    return files.stream().filter(task -> FileMark.isLate(task.file()) == isLate).toList();
  }

  private BucketLayout layout(ReadPlanner planner, List<FileScanTask> files) {
    List<PlannedSection> sections = planner.sections(files);
    Map<String, Integer> numbers = new HashMap<>();
    for (int number = 0; number < sections.size(); number++) {
      for (PlannedFile file : sections.get(number).files().toList()) {
        numbers.put(file.file().location(), number);
      }
    }
    Map<Long, List<FileScanTask>> byAge = new TreeMap<>(); // of rows that were late, behind others
    for (FileScanTask task : files) {
      long age = 2 * task.file().dataSequenceNumber() + (FileMark.isMixed(task.file()) ? 1 : 0);
      byAge.computeIfAbsent(age, each -> new ArrayList<>()).add(task);
    }
    List<Run> runs = new ArrayList<>();
    byAge.forEach(
        (age, ofAge) ->
            runs.add(
                new Run(
                    age / 2,
                    commitTime(age / 2),
                    ofAge.stream().anyMatch(task -> hasTombstones(task.file())),
                    ofAge.stream().allMatch(task -> FileFacts.hasWholeRows(task.file(), schema)),
                    ofAge.stream().anyMatch(task -> counts.of(task.file()) < newest),
                    ofAge.stream().anyMatch(task -> task.file().fileSequenceNumber() <= unindexed),
                    settling(planner, ofAge),
                    ofAge.stream()
                        .map(task -> file(task, number(numbers, task.file())))
                        .toList())));
    return BucketLayout.of(runs, now);
  }

  private static Settling settling(ReadPlanner planner, List<FileScanTask> files) {
    return files.stream()
        .map(task -> planner.settling(task.file()))
        .filter(each -> each != Settling.DONE)
        .findFirst()
        .orElse(Settling.DONE);
  }

  private static int number(Map<String, Integer> numbers, DataFile file) {
    return Objects.requireNonNull(
        numbers.get(file.location()), "without a filter, every file lies in a section");
  }

  private File file(FileScanTask task, int section) {
    DataFile file = task.file();
    return new File(
        file.location(),
        file.fileSizeInBytes(),
        file.recordCount(),
        task.deletes().stream().mapToLong(DeleteFile::recordCount).sum(),
        keyBytes(file),
        section);
  }

  private long keyBytes(DataFile file) {
    List<NestedField> decisive = new ArrayList<>(schema.sortKey());
    decisive.addAll(List.of(schema.version(), schema.written(), schema.deleted()));
    Map<Integer, Long> sizes = file.columnSizes();
    return sizes == null || sizes.isEmpty()
        ? file.fileSizeInBytes()
        : decisive.stream().mapToLong(field -> sizes.getOrDefault(field.fieldId(), 0L)).sum();
  }

  /**
   * The time of a commit; of an expired one it is only known that it was before those that are
   * left.
   */
  private Instant commitTime(long age) {
    Instant known = commitTimes.get(age);
    return known != null
        ? known
        : commitTimes.values().stream().min(Comparator.naturalOrder()).orElse(now);
  }

  private boolean hasTombstones(DataFile file) {
    return FileFacts.presence(file, schema, schema.deleted()) != Presence.NEVER;
  }

  /**
   * The compaction of a pick; empty where all of the picked files would come out as they went in.
   */
  private Optional<Compaction> compaction(
      BucketCounts.Bucket bucket, List<FileScanTask> files, Pick pick, CompactionPolicy own) {
    boolean isMoved = pick.reason() == Reason.REBUCKET;
    boolean isOfLate = pick.reason() == Reason.LATE;
    boolean takesAll = isMoved || pick.reason() == Reason.INDEX;
    boolean drops = !isMoved && pick.dropsTombstones(own);
    Set<Long> ages =
        pick.stretch().runs().stream().map(Run::age).collect(Collectors.toCollection(HashSet::new));
    Map<String, FileScanTask> picked =
        files.stream()
            .filter(task -> ages.contains(task.file().dataSequenceNumber()))
            .collect(Collectors.toMap(task -> task.file().location(), task -> task));
    ReadPlanner planner =
        planner(drops ? MergeRules.Wanted.ROWS_AND_STAMPS : MergeRules.Wanted.HISTORY);
    Predicate<PlannedFile> changes = // though no other file has its keys
        file ->
            (drops && file.facts().deleted() != Presence.NEVER)
                || (isOfLate
                    && FileMark.isLate(
                        Objects.requireNonNull(picked.get(file.file().location())).file()));
    List<BucketPlan> stretches = new ArrayList<>();
    List<FileScanTask> inputs = new ArrayList<>();
    List<PlannedSection> open = new ArrayList<>();
    List<FileScanTask> read = List.copyOf(picked.values());
    for (PlannedSection section :
        read.size() == bucket.files().size()
            ? planner.sections(read)
            : planner.sectionsOfSome(read)) {
      if (!takesAll && stays(section, changes)) {
        close(open, changes, bucket.partition(), picked, stretches, inputs);
      } else {
        open.add(section);
      }
    }
    if (takesAll) {
      stretches.add(
          new BucketPlan(bucket.partition(), open.stream().map(PlannedSection::plan).toList()));
      inputs.addAll(read);
    } else {
      close(open, changes, bucket.partition(), picked, stretches, inputs);
    }
    return inputs.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Compaction(
                bucket.partition(),
                bucket.of(),
                Objects.requireNonNull(snapshot, "its files are of a snapshot").snapshotId(),
                inputs.stream().map(FileScanTask::file).toList(),
                inputs.stream().flatMap(task -> task.deletes().stream()).toList(),
                stretches,
                isOfLate
                    ? newest(bucket.files()) // so that no timely file counts as later
                    : ages.stream().max(Comparator.naturalOrder()).orElseThrow(),
                pick.reason().word(),
                pick.because(),
                drops,
                mark(inputs, bucket.files(), isOfLate || files.size() == bucket.files().size())));
  }

  private static long newest(List<FileScanTask> files) {
    return files.stream().mapToLong(task -> task.file().dataSequenceNumber()).max().orElseThrow();
  }

  /**
   * The mark of the files of a merge.
   *
   * @param isOfBoth whether late files and timely ones are not kept apart
   */
  private static String mark(List<FileScanTask> inputs, List<FileScanTask> all, boolean isOfBoth) {
    List<DataFile> files = inputs.stream().map(FileScanTask::file).toList();
    boolean isMixed =
        files.stream().anyMatch(FileMark::isMixed)
            || (isOfBoth && files.stream().anyMatch(FileMark::isLate));
    return (isOfBoth ? "" : FileMark.merged(files).text())
        + (isMixed && files.size() < all.size() ? FileMark.MIXED : "");
  }

  private boolean stays(PlannedSection section, Predicate<PlannedFile> changes) {
    List<PlannedFile> files = section.files().toList();
    return files.size() == 1
        && !policy.isSmallFile(files.get(0).file().bytes())
        && !changes.test(files.get(0));
  }

  /** Ends a stretch of neighbouring sections; one file alone is no merge. */
  private void close(
      List<PlannedSection> open,
      Predicate<PlannedFile> changes,
      List<Serializable> partition,
      Map<String, FileScanTask> picked,
      List<BucketPlan> stretches,
      List<FileScanTask> inputs) {
    List<PlannedFile> files = open.stream().flatMap(PlannedSection::files).toList();
    if (files.size() > 1 || files.stream().anyMatch(changes)) {
      stretches.add(new BucketPlan(partition, open.stream().map(PlannedSection::plan).toList()));
      files.forEach(file -> inputs.add(picked.get(file.file().location())));
    }
    open.clear();
  }
}
