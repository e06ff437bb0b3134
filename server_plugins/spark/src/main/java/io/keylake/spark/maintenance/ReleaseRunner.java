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
import io.keylake.tables.quarantine.HeldGroup;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.quarantine.Release;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
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
    Long head = quarantine.head();
    if (head == null || quarantine.groups().isEmpty()) {
      throw nothing("has no rows in quarantine");
    }
    KeyedSchema schema = KeyedSchema.ofBranch(table, Quarantine.BRANCH);
    ReadPlanner planner =
        new ReadPlanner(
            table, schema, ReadSpec.ofAllColumns(schema, head, MergeRules.Wanted.HISTORY));
    List<FileScanTask> files =
        planner.files().values().stream().flatMap(Collection::stream).toList();
    List<Release.Part> parts = new ArrayList<>();
    List<String> written = new ArrayList<>();
    for (HeldGroup group : quarantine.groups()) {
      List<FileScanTask> own =
          files.stream().filter(each -> group.has(each.file().dataSequenceNumber())).toList();
      Map<Long, List<DataFile>> byCommit = byCommit(own);
      if (wanted == null && byCommit.size() <= MOST_COMMITS) {
        parts.add(new Release.Part(group, List.copyOf(byCommit.values()), List.of()));
      } else {
        List<DataFile> selected = written(schema, planner, own, wanted);
        List<DataFile> left =
            wanted == null ? List.of() : written(schema, planner, own, wanted.negated());
        selected.forEach(file -> written.add(file.location()));
        left.forEach(file -> written.add(file.location()));
        parts.add(new Release.Part(group, List.of(selected), left));
      }
    }
    Release release = new Release(head, parts, isToMain, labels, written);
    if (wanted != null && release.rows() == 0) {
      written.forEach(location -> table.io().deleteFile(location));
      throw nothing("has no row in quarantine that the condition selects");
    }
    return release;
  }

  private KeylakeException nothing(String why) {
    return new KeylakeException(
        NOTHING_TO_DO, "table %s %s; there is nothing to do".formatted(table.name(), why));
  }

  private static Map<Long, List<DataFile>> byCommit(List<FileScanTask> files) {
    Map<Long, List<DataFile>> byCommit = new TreeMap<>();
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
    if (works.isEmpty()) {
      return List.of();
    }
    JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
    Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
    try {
      return context
          .parallelize(works, works.size())
          .map(new CompactionWork.Runner(copy))
          .collect()
          .stream()
          .flatMap(Arrays::stream)
          .toList();
    } finally {
      copy.destroy();
    }
  }
}
