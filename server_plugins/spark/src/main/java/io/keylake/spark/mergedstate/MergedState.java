package io.keylake.spark.mergedstate;

import io.keylake.merge.MergeRules;
import io.keylake.spark.read.merge.StandingRows;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import io.keylake.tables.storage.StatesFolder;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.ExpireSnapshots;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.jspecify.annotations.Nullable;

/**
 * The merged state of main, of a branch or of a tag of one table, kept up with it:
 *
 * <ol>
 *   <li>The newest commit of a branch is planned as a read of all columns. A section that a state
 *       had before keeps what it has; the others are worked at, a task for each bucket. Of one that
 *       has some of its files from before, {@link EarlierRows} stay.
 *   <li>What differs from the files of the state before becomes one commit of a table beside the
 *       keyed one. Files of the keyed table are in it as they lie.
 *   <li>States of the last hour stay, for readers that have begun, while the table has the commits
 *       that they are of: their files are those of the table.
 * </ol>
 *
 * <p>A state is a copy: it can be made again from the table at any time, and after a day it is, in
 * another folder, so that cleaning finds the files of the one before as it finds those of a server
 * that has died.
 */
final class MergedState {
  /** The property of a thread that has what it says of its jobs. */
  private static final String DESCRIPTION = "spark.job.description";

  private static final Duration KEPT = Duration.ofHours(1);
  private static final Duration OLDEST = Duration.ofDays(1);

  private final @Nullable String ref;
  private @Nullable StateOperations operations;
  private Instant begun = Instant.EPOCH;
  private Instant seen = Instant.EPOCH;
  private @Nullable Long source;
  private @Nullable TableSpec spec;
  private Map<SectionKey, StateSection> sections = Map.of();
  private final Map<Long, Made> made = new HashMap<>(); // by snapshots of the state

  /**
   * @param source the commit of the keyed table that a snapshot is of
   */
  private record Made(Instant at, long source) {}

  /**
   * @param ref the branch or tag of which the rows are; null for main
   */
  MergedState(@Nullable String ref) {
    this.ref = ref;
  }

  /**
   * The state as it is, if it is fresh enough; null where it has to be looked at again.
   *
   * @param freshness how long ago the table was looked at, at most
   */
  synchronized @Nullable TableMetadata within(Duration freshness) {
    boolean isFresh = seen.plus(freshness).isAfter(Instant.now());
    return isFresh && operations != null ? operations.current() : null;
  }

  /** Has the table looked at again by the next request, however fresh it may be otherwise. */
  synchronized void outdate() {
    seen = Instant.EPOCH;
  }

  /**
   * The state of the newest commit.
   *
   * @param table of which the newest commit is looked up once more: another request may have moved
   *     the state on while this one waited, and a state never goes back
   */
  synchronized TableMetadata at(SparkContext spark, Table table) {
    Instant now = Instant.now();
    table.refresh();
    while (true) {
      Long head = new CommitLog(table, ref).headId();
      try {
        TableMetadata found = at(spark, table, head, now);
        seen = now;
        return found;
      } catch (RuntimeException e) {
        table.refresh();
        if (Objects.equals(head, new CommitLog(table, ref).headId())) {
          throw e;
        } // files of an older commit may have been cleaned away meanwhile
      }
    }
  }

  private TableMetadata at(SparkContext spark, Table table, @Nullable Long head, Instant now) {
    KeyedSchema schema = schema(table, head);
    Schema shown = schema.visible();
    if (operations == null || begun.plus(OLDEST).isBefore(now) || !operations.isThere()) {
      operations = begin(table, shown);
      begun = now;
      source = null;
      sections = Map.of();
      made.clear();
    }
    boolean isSame = operations.current().schema().sameSchema(shown) && schema.spec().equals(spec);
    if (head != null && !(isSame && head.equals(source))) {
      operations.date(table.snapshot(head).timestampMillis());
      operations.show(shown);
      move(spark, table, schema, head, isSame ? sections : Map.of());
      spec = schema.spec();
    }
    forget(table, now);
    return operations.current();
  }

  /** The columns of a branch are those of the table now; a tag has those of its time. */
  private KeyedSchema schema(Table table, @Nullable Long head) {
    if (Experiment.ofBranch(table.properties(), ref) != null) {
      throw new KeylakeException(
          KeylakeException.Kind.UNSUPPORTED,
          "branch '%s' of table %s is an experiment, of which there is no merged state; read it with keylake, or promote it"
              .formatted(ref, table.name()));
    }
    SnapshotRef of = table.refs().get(ref == null ? SnapshotRef.MAIN_BRANCH : ref);
    return of != null && of.isTag() && head != null
        ? KeyedSchema.of(table, SnapshotUtil.schemaFor(table, head))
        : KeyedSchema.of(table);
  }

  private static StateOperations begin(Table table, Schema shown) {
    String folder = "%s/%s".formatted(StatesFolder.of(table), UUID.randomUUID());
    long created = ((BaseTable) table).operations().current().lastUpdatedMillis();
    return new StateOperations(table.io(), folder, StatesFolder.uuid(table), shown, created);
  }

  private void move(
      SparkContext spark,
      Table table,
      KeyedSchema schema,
      long head,
      Map<SectionKey, StateSection> known) {
    ReadSpec all = ReadSpec.ofAllColumns(schema, head, MergeRules.Wanted.ROWS).unordered();
    ReadPlanner planner = new ReadPlanner(table, schema, all);
    List<BucketPlan> buckets = planner.plan().buckets();
    WritesSince writes = new WritesSince(table, planner, source, head);
    Map<String, DataFile> files = new HashMap<>();
    Map<String, Place> places = new HashMap<>();
    for (FileScanTask task : FileListing.ofAll(table).at(head)) {
      files.put(task.file().location(), plain(task.file()));
      places.put(task.file().location(), Place.of(task));
    }
    Set<Place> present = Set.copyOf(places.values());
    Table state = new BaseTable(Objects.requireNonNull(operations), table.name());
    Map<SectionKey, StateSection> now = new HashMap<>();
    List<StateWork> works = new ArrayList<>();
    boolean mayStand = StandingRows.mayStand(StateWork.task(schema));
    String operation = UUID.randomUUID().toString();
    for (BucketPlan bucket : buckets) {
      List<StateWork.Part> parts = new ArrayList<>();
      for (SectionPlan section : bucket.sections()) {
        SectionKey key = SectionKey.of(section, places);
        StateSection before = known.get(key);
        if (before != null) {
          now.put(key, before);
        } else if (mayStand && section.passedThrough() && isWhole(section)) {
          now.put(key, new StateSection(stored(section, places), whole(section, files)));
        } else {
          EarlierRows earlier =
              section.runs().size() == 1
                  ? null
                  : EarlierRows.of(
                      stored(section, places),
                      known.values(),
                      present,
                      () -> writes.in(bucket.partition()));
          parts.add(new StateWork.Part(section, earlier));
        }
      }
      if (!parts.isEmpty()) {
        works.add(new StateWork(schema, bucket.partition(), parts, operation));
      }
    }
    List<List<StateWork.Made>> done = run(spark, state, works);
    for (int work = 0; work < done.size(); work++) {
      List<StateWork.Part> parts = works.get(work).parts();
      for (int i = 0; i < parts.size(); i++) {
        SectionPlan section = parts.get(i).section();
        now.put(
            SectionKey.of(section, places),
            new StateSection(
                stored(section, places), files(section, done.get(work).get(i), files)));
      }
    }
    commit(state, byLocation(sections), byLocation(now), head, table);
    now.replaceAll((key, of) -> of.remembered());
    sections = now;
    source = head;
    made.put(state.currentSnapshot().snapshotId(), new Made(Instant.now(), head));
  }

  private static Map<Place, StoredFile> stored(SectionPlan section, Map<String, Place> places) {
    return section.runs().stream()
        .flatMap(List::stream)
        .collect(
            Collectors.toMap(
                file -> Objects.requireNonNull(places.get(file.location()), "of the snapshot"),
                Function.identity()));
  }

  private static boolean isWhole(SectionPlan section) {
    return section.runs().get(0).stream().allMatch(StoredFile::isWhole);
  }

  private static List<StateFile> whole(SectionPlan section, Map<String, DataFile> files) {
    return section.runs().get(0).stream()
        .map(file -> new StateFile(of(files, file), null))
        .toList();
  }

  private static List<StateFile> files(
      SectionPlan section, StateWork.Made made, Map<String, DataFile> files) {
    List<StateFile> all = new ArrayList<>();
    for (StoredFile file : section.runs().stream().flatMap(List::stream).toList()) {
      if (!made.dropped().contains(file.location())) {
        all.add(new StateFile(of(files, file), made.hidden().get(file.location())));
      }
    }
    made.composed()
        .forEach(file -> all.add(new StateFile(file, made.hidden().get(file.location()))));
    return all;
  }

  private static DataFile of(Map<String, DataFile> files, StoredFile file) {
    return Objects.requireNonNull(files.get(file.location()), "a plan is of files of its snapshot");
  }

  /** The same file in a table without partitions, in which it gets row ids of its own. */
  private static DataFile plain(DataFile file) {
    return DataFiles.builder(PartitionSpec.unpartitioned())
        .copy(file)
        .withSortOrder(SortOrder.unsorted())
        .withFirstRowId(null)
        .build();
  }

  private static List<List<StateWork.Made>> run(
      SparkContext spark, Table state, List<StateWork> works) {
    if (works.isEmpty()) {
      return List.of();
    }
    JavaSparkContext jobs = JavaSparkContext.fromSparkContext(spark);
    String said = spark.getLocalProperty(DESCRIPTION);
    spark.setJobDescription("keylake: merged state of " + state.name());
    Broadcast<Table> copy = jobs.broadcast(SerializableTable.copyOf(state));
    try {
      return jobs.parallelize(works, works.size()).map(new StateWork.Runner(copy)).collect();
    } finally {
      copy.destroy();
      spark.setJobDescription(said);
    }
  }

  private static Map<String, StateFile> byLocation(Map<SectionKey, StateSection> sections) {
    Map<String, StateFile> all = new HashMap<>();
    sections
        .values()
        .forEach(section -> section.files().forEach(file -> all.put(file.location(), file)));
    return all;
  }

  private static void commit(
      Table state,
      Map<String, StateFile> before,
      Map<String, StateFile> after,
      long source,
      Table table) {
    RowDelta delta =
        state
            .newRowDelta()
            .set(MergedBranch.SOURCE, String.valueOf(source))
            .set(
                MergedBranch.SOURCE_MILLIS,
                String.valueOf(table.snapshot(source).timestampMillis()));
    if (state.currentSnapshot() != null) { // what came before is no other writer's
      delta.validateFromSnapshot(state.currentSnapshot().snapshotId());
    }
    before.forEach(
        (location, file) -> {
          StateFile now = after.get(location);
          if (file.hidden() != null && (now == null || !now.hidesAs(file))) {
            delta.removeDeletes(file.hidden());
          }
          if (now == null) {
            delta.removeRows(file.file());
          }
        });
    after.forEach(
        (location, file) -> {
          StateFile old = before.get(location);
          if (old == null) {
            delta.addRows(file.file());
          }
          if (file.hidden() != null && (old == null || !file.hidesAs(old))) {
            delta.addDeletes(file.hidden());
          }
        });
    delta.commit();
  }

  /**
   * Old states go, and those of commits that were cleaned away, with those of their files that are
   * not the table's.
   */
  private void forget(Table table, Instant now) {
    BaseTable state = new BaseTable(Objects.requireNonNull(operations), table.name());
    List<Long> old = new ArrayList<>();
    made.forEach(
        (snapshot, of) -> {
          boolean isNewest = snapshot == state.currentSnapshot().snapshotId();
          boolean isKept = of.at().plus(KEPT).isAfter(now) && table.snapshot(of.source()) != null;
          if (!isNewest && !isKept) {
            old.add(snapshot);
          }
        });
    if (!old.isEmpty()) {
      ExpireSnapshots expiry =
          state
              .expireSnapshots()
              .expireOlderThan(0)
              .retainLast(1)
              .deleteWith(
                  file -> {
                    if (file.startsWith(state.location() + "/")) {
                      state.io().deleteFile(file);
                    }
                  });
      old.forEach(expiry::expireSnapshotId);
      expiry.commit();
      old.forEach(made::remove);
    }
  }
}
