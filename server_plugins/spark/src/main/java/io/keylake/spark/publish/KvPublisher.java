package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.MergeRules;
import io.keylake.spark.publish.Manifest.GroupFile;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.ChangePlanner;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyGroups;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.SerializableTable;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.SparkContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.util.SerializableConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * Publishes a table to where an online key-value store loads it from: a sorted file for each group.
 *
 * <ol>
 *   <li>What is asked for is noted in the target first, so that it is known when it is asked again.
 *   <li>Each bucket is a task of its own; nothing is shuffled or sorted, since buckets hold ranges
 *       of groups and their rows come by group and key.
 *   <li>A bucket that is done leaves a record. Where the work was stopped, the same call goes on
 *       with the buckets that have none.
 *   <li>The manifest comes last: where it is, everything is. The same call then only reads it.
 * </ol>
 */
public final class KvPublisher {
  static final String PROGRESS = "_progress";
  private static final String MANIFEST = "manifest.json";
  private static final String WISH = "_publish.json";

  private final SparkContext spark;
  private final Table table;
  private final Target target;

  /**
   * The rows and columns that are to be published, and their format.
   *
   * @param snapshotId the commit whose rows are published; null where there is none yet
   * @param after if not null, only keys that have changed after that commit
   * @param columns names of value columns; null for all
   */
  public record PublishSpec(
      long snapshotId, @Nullable Long after, String format, @Nullable List<String> columns) {}

  /** The result of a publication, over all its files. */
  public record Published(
      long snapshotId, long groups, long files, long rows, long tombstones, long bytes) {
    static Published of(Manifest manifest) {
      List<GroupFile> files = manifest.files();
      return new Published(
          manifest.snapshotId(),
          manifest.groups(),
          files.size(),
          files.stream().mapToLong(GroupFile::rows).sum(),
          files.stream().mapToLong(GroupFile::tombstones).sum(),
          files.stream().mapToLong(GroupFile::bytes).sum());
    }
  }

  public KvPublisher(SparkContext spark, Table table, String target) {
    this.spark = spark;
    this.table = table;
    this.target = new Target(target, new SerializableConfiguration(spark.hadoopConfiguration()));
  }

  public Published publish(PublishSpec publishSpec) {
    KvFormat format = KvFormat.of(publishSpec.format());
    PublishedSchema schema = schema(publishSpec);
    Manifest wanted = manifest(publishSpec, format, schema);
    try (Folder folder = target.open(table.io())) {
      Manifest known = known(folder, wanted);
      if (known != null) {
        return Published.of(known);
      }
      folder.write(WISH, wanted.toJson());
      Manifest done = wanted.with(write(folder, works(publishSpec, format, schema)));
      folder.write(MANIFEST, done.toJson());
      folder.delete(WISH);
      folder.delete(PROGRESS);
      folder.deleteUnfinished();
      return Published.of(done);
    } catch (IOException e) {
      throw StoreFailure.publishing(target.location(), e);
    }
  }

  private PublishedSchema schema(PublishSpec publishSpec) {
    if (table.snapshot(publishSpec.snapshotId()) == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s has no snapshot %d; see its history"
              .formatted(table.name(), publishSpec.snapshotId()));
    }
    boolean isHead =
        table.currentSnapshot() != null
            && table.currentSnapshot().snapshotId() == publishSpec.snapshotId();
    KeyedSchema keyed =
        KeyedSchema.of(
            table,
            isHead ? table.schema() : SnapshotUtil.schemaFor(table, publishSpec.snapshotId()));
    if (!keyed.spec().partitionBy().isEmpty()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s is partitioned by %s, so that a group lies in many partitions; publish a table without partition_by"
              .formatted(table.name(), keyed.spec().partitionBy()));
    }
    int buckets =
        BucketCounts.of(table).read(publishSpec.snapshotId(), publishSpec.after()).first();
    if (buckets != keyed.spec().buckets()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has %d buckets, and files from when there were %d; finish the move first: rebucket()"
              .formatted(table.name(), keyed.spec().buckets(), buckets));
    }
    return PublishedSchema.of(keyed, publishSpec.columns(), publishSpec.after() != null);
  }

  private Manifest manifest(PublishSpec publishSpec, KvFormat format, PublishedSchema schema) {
    TableSpec spec = schema.table().spec();
    KeyGroups groups = spec.groups();
    return new Manifest(
        table.name(),
        table.uuid().toString(),
        publishSpec.snapshotId(),
        publishSpec.after(),
        format.word(),
        groups == null ? null : groups.hash(),
        groups == null ? spec.buckets() : groups.count(),
        spec.buckets(),
        schema.described(),
        List.of());
  }

  /** The manifest of the target if what is wanted is finished there; null where there is work. */
  private @Nullable Manifest known(Folder folder, Manifest wanted) throws IOException {
    String finished = folder.read(MANIFEST);
    String begun = finished == null ? folder.read(WISH) : null;
    String said = finished == null ? begun : finished;
    if (said == null) {
      if (folder.names().isEmpty()) {
        return null;
      }
      throw new KeylakeException(
          DEFINITION,
          "target %s is not empty, and what it holds was not published; take another target"
              .formatted(target.location()));
    }
    Manifest there = Manifest.fromJson(said);
    if (there == null || !there.asksForThat(wanted)) {
      throw new KeylakeException(
          DEFINITION,
          "target %s holds %s; take another target%s"
              .formatted(
                  target.location(),
                  there == null ? "a manifest of something else" : shown(there, finished == null),
                  there == null || finished != null ? "" : ", or publish just that to finish it"));
    }
    return finished == null ? null : there;
  }

  private static String shown(Manifest there, boolean isUnfinished) {
    return "%s snapshot %d of table %s%s in format %s with columns %s"
        .formatted(
            isUnfinished ? "the beginning of" : "already",
            there.snapshotId(),
            there.table(),
            there.after() == null ? "" : " after " + there.after(),
            there.format(),
            there.columns().stream().map(Manifest.Column::name).toList());
  }

  private List<BucketWork> works(PublishSpec publishSpec, KvFormat format, PublishedSchema schema) {
    if (publishSpec.after() != null) {
      CommitRange range = CommitRange.of(table, publishSpec.after(), publishSpec.snapshotId());
      return new ChangePlanner(table, schema.table(), Expressions.alwaysTrue())
          .plan(range).buckets().stream()
              .map(bucket -> new BucketWork(schema, format, target, null, bucket))
              .toList();
    }
    Set<Integer> values =
        schema.values().stream().map(NestedField::fieldId).collect(Collectors.toSet());
    ReadSpec all = ReadSpec.ofColumns(publishSpec.snapshotId(), values, MergeRules.Wanted.ROWS);
    return new ReadPlanner(table, schema.table(), all)
        .plan().buckets().stream()
            .map(bucket -> new BucketWork(schema, format, target, bucket, null))
            .toList();
  }

  /** All files, by group: those that were there, and those that are written now. */
  private List<GroupFile> write(Folder folder, List<BucketWork> works) throws IOException {
    List<GroupFile> files = new ArrayList<>();
    List<BucketWork> open = new ArrayList<>();
    for (BucketWork work : works) {
      String done = folder.read(work.done());
      if (done == null) {
        open.add(work);
      } else {
        files.addAll(Manifest.files(done));
      }
    }
    if (!open.isEmpty()) {
      JavaSparkContext context = JavaSparkContext.fromSparkContext(spark);
      Broadcast<Table> copy = context.broadcast(SerializableTable.copyOf(table));
      try {
        context
            .parallelize(open, open.size())
            .map(new BucketWork.Runner(copy))
            .collect()
            .forEach(files::addAll);
      } finally {
        copy.destroy();
      }
    }
    files.sort(Comparator.comparingInt(GroupFile::group));
    return files;
  }
}
