package io.keylake.spark.maintenance;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOTHING_TO_DO;

import io.keylake.merge.MergeRules;
import io.keylake.spark.access.AccessControl;
import io.keylake.spark.conditions.RowCondition;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.PlannedSection;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.quarantine.Release;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.jspecify.annotations.Nullable;

/**
 * Takes rows out of the quarantine of a table. All of them come to main with their files as they
 * are; where a condition selects some, or the commits are many, a task for each bucket writes the
 * files anew.
 */
public final class ReleaseRunner {
  private static final int MOST_ATTEMPTS = 10;
  private static final int MOST_COMMITS = 64;

  private final SparkContext spark;
  private final Table table;

  public ReleaseRunner(SparkContext spark, Table table) {
    this.spark = spark;
    this.table = table;
  }

  /**
   * The outcome of a release.
   *
   * @param snapshotId that main stands at by it; null where nothing came to main
   */
  public record Done(Release release, @Nullable Long snapshotId) {}

  /**
   * Releases rows, or discards them. Where others come in between, it is planned anew.
   *
   * @param wanted null for all
   */
  public Done run(@Nullable RowCondition wanted, boolean isToMain) {
    WriteLabels labels =
        WriteLabels.NONE.by(spark.sparkUser()).certified(AccessControl.principalOfThread());
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      table.refresh();
      Release release = planned(wanted, isToMain, labels);
      Commits.Result result = new Commits(table).make(release);
      if (result.isCommitted()) {
        release.unused().forEach(table.io()::deleteFile);
        return new Done(release, isToMain ? result.snapshotId() : null);
      }
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "the quarantine of %s got other rows %d times meanwhile; try again when there are fewer writes"
            .formatted(table.name(), MOST_ATTEMPTS));
  }

  private Release planned(@Nullable RowCondition wanted, boolean isToMain, WriteLabels labels) {
    Quarantine quarantine = Quarantine.of(table);
    Snapshot head = quarantine.head();
    if (head == null || quarantine.rows() == 0) {
      throw nothing("has no rows in quarantine");
    }
    KeyedSchema schema = KeyedSchema.ofBranch(table, Quarantine.BRANCH);
    ReadPlanner planner =
        new ReadPlanner(
            table,
            schema,
            ReadSpec.ofAllColumns(schema, head.snapshotId(), MergeRules.Wanted.HISTORY));
    List<FileScanTask> tasks =
        planner.files().values().stream().flatMap(Collection::stream).toList();
    SortedMap<Long, List<DataFile>> byCommit = byCommit(tasks);
    boolean isAsItIs = tasks.stream().allMatch(task -> task.deletes().isEmpty());
    if (wanted == null && isAsItIs && byCommit.size() <= MOST_COMMITS) {
      return new Release(quarantine, List.copyOf(byCommit.values()), null, isToMain, labels);
    }
    List<DataFile> selected = written(schema, planner, tasks, wanted);
    if (selected.isEmpty()) {
      throw nothing("has no row in quarantine that the condition selects");
    }
    Release.Kept kept =
        new Release.Kept(
            tasks.stream().map(FileScanTask::file).toList(),
            tasks.stream().flatMap(task -> task.deletes().stream()).toList(),
            wanted == null ? List.of() : written(schema, planner, tasks, wanted.negated()),
            byCommit.lastKey());
    return new Release(quarantine, List.of(selected), kept, isToMain, labels);
  }

  private KeylakeException nothing(String why) {
    return new KeylakeException(
        NOTHING_TO_DO, "table %s %s; there is nothing to do".formatted(table.name(), why));
  }

  private static SortedMap<Long, List<DataFile>> byCommit(List<FileScanTask> files) {
    SortedMap<Long, List<DataFile>> byCommit = new TreeMap<>();
    files.forEach(
        each ->
            byCommit
                .computeIfAbsent(each.file().dataSequenceNumber(), number -> new ArrayList<>())
                .add(each.file()));
    return byCommit;
  }

  /** Files of some rows of others, merged. */
  private List<DataFile> written(
      KeyedSchema schema,
      ReadPlanner planner,
      List<FileScanTask> files,
      @Nullable RowCondition wanted) {
    String operation = "held-" + UUID.randomUUID();
    long targetFileBytes = CompactionPolicy.of(table).targetFileBytes();
    List<CompactionWork> works = new ArrayList<>();
    for (BucketCounts.Bucket bucket : BucketCounts.of(table).apart(files)) {
      List<PlannedSection> sections = planner.sectionsOfSome(bucket.files());
      works.add(
          new CompactionWork(
              schema,
              List.of(
                  new BucketPlan(
                      bucket.partition(), sections.stream().map(PlannedSection::plan).toList())),
              bucket.files().get(0).file().partition(),
              bucket.of(),
              operation,
              targetFileBytes,
              wanted));
    }
    return CompactionWork.run(spark, table, works);
  }
}
