package io.keylake.tables.buckets;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SortedSet;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The numbers of buckets that the files of a table are spread over. A changed count is a partition
 * spec of its own, and older files stay as they are:
 *
 * <pre>
 *   spec 0, 2 buckets    [0           ] [1           ]     each count is a multiple of the one before,
 *   spec 1, 4 buckets    [0   ] [2   ]  [1   ] [3   ]      so a bucket of 2 is made of whole buckets of 4
 * </pre>
 *
 * Files of several counts are read by the coarsest of them.
 */
public final class BucketCounts {
  /** The counts by the names of partition fields, once there are several. */
  public static final String PROPERTY = "keylake.bucket_counts";

  private final Table table;
  private final Map<Integer, Integer> bySpec = new TreeMap<>();

  private BucketCounts(Table table) {
    this.table = table;
    Map<String, Integer> byField = byField(table);
    boolean isStored = table.schema().findField(KeyedSchema.BUCKET) != null;
    for (PartitionSpec spec : table.specs().values()) {
      last(spec)
          .ifPresent(
              last -> {
                Integer count = byField.get(last.name());
                String transform = isStored ? "identity" : "bucket[" + count + "]";
                boolean isOfTable =
                    table.schema().findField(last.sourceId()) != null; // not replaced
                if (isOfTable && count != null && last.transform().toString().equals(transform)) {
                  bySpec.put(spec.specId(), count);
                }
              });
    }
  }

  /** The field of the bucket, if there is one. */
  static Optional<PartitionField> last(PartitionSpec spec) {
    return spec.fields().stream().reduce((one, next) -> next);
  }

  public static BucketCounts of(Table table) {
    return new BucketCounts(table);
  }

  /** The counts that a table says of its partition fields; before a change, there is one. */
  static Map<String, Integer> byField(Table table) {
    Map<String, Integer> counts = new TreeMap<>();
    JsonNode said = SpecJson.parse(table.properties().getOrDefault(PROPERTY, "{}"));
    said.fieldNames().forEachRemaining(name -> counts.put(name, said.get(name).asInt()));
    if (counts.isEmpty()) {
      KeyedSchema schema = KeyedSchema.of(table);
      counts.put(fieldName(schema), schema.spec().buckets());
    }
    return counts;
  }

  /**
   * The text that a table has to say of its partition fields when columns with their names get
   * others.
   */
  public static String said(Table table) {
    return SpecJson.write(byField(table));
  }

  /** The name of the first partition field; those of later counts begin with it. */
  public static String fieldName(KeyedSchema schema) {
    return schema.hasBucketColumn()
        ? KeyedSchema.BUCKET
        : schema.spec().bucketBy().get(0) + "_bucket";
  }

  /** Into how many buckets the table was divided when a file was written. */
  public int of(ContentFile<?> file) {
    Integer count = bySpec.get(file.specId());
    if (count == null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "file %s of table %s has the partition spec %s, which was not made by keylake; roll back to the snapshot before"
              .formatted(file.location(), table.name(), table.specs().get(file.specId())));
    }
    return count;
  }

  /** Every count that the table has had. */
  public SortedSet<Integer> all() {
    return new TreeSet<>(bySpec.values());
  }

  /**
   * The counts of the files that some snapshots have.
   *
   * @return all counts where there is no snapshot
   */
  public SortedSet<Integer> in(Collection<Snapshot> snapshots) {
    SortedSet<Integer> counts = all();
    if (counts.size() > 1 && !snapshots.isEmpty()) {
      counts.clear();
      for (Snapshot snapshot : snapshots) {
        for (ManifestFile manifest : snapshot.dataManifests(table.io())) {
          Integer count = bySpec.get(manifest.partitionSpecId());
          if (count != null && (manifest.hasAddedFiles() || manifest.hasExistingFiles())) {
            counts.add(count);
          }
        }
      }
    }
    return counts.isEmpty() ? all() : counts;
  }

  /**
   * The counts of the files that a read looks at.
   *
   * @param snapshotId null for a table without a snapshot
   * @param after if not null, only what commits after this one have written is read
   */
  public SortedSet<Integer> read(@Nullable Long snapshotId, @Nullable Long after) {
    if (snapshotId == null || all().size() == 1) {
      return all();
    }
    return in(
        after == null
            ? List.of(table.snapshot(snapshotId))
            : CommitRange.of(table, after, snapshotId).commits());
  }

  /** The partition spec of a count. */
  public PartitionSpec spec(int buckets) {
    return bySpec.entrySet().stream()
        .filter(each -> each.getValue() == buckets)
        .map(each -> table.specs().get(each.getKey()))
        .findFirst()
        .orElseThrow(
            () ->
                new KeylakeException(
                    UNSUPPORTED,
                    "table %s was never divided into %d buckets, only into %s; load it again"
                        .formatted(table.name(), buckets, all())));
  }

  /** The bucket, of fewer, that a bucket is a part of. */
  public static int coarse(int bucket, int buckets) {
    return bucket % buckets;
  }

  /** The buckets, of more, that a bucket is made of. */
  public static List<Integer> fine(int bucket, int of, int buckets) {
    return IntStream.range(0, buckets).filter(each -> coarse(each, of) == bucket).boxed().toList();
  }

  /**
   * The partition of a file as it is named in plans: the values of its partition, and the bucket if
   * there are so many.
   */
  public List<Serializable> partition(ContentFile<?> file, int buckets) {
    StructLike tuple = file.partition();
    List<Serializable> values = new ArrayList<>();
    for (int i = 0; i < tuple.size() - 1; i++) {
      values.add(serializable(tuple.get(i, Object.class)));
    }
    int bucket = tuple.get(tuple.size() - 1, Integer.class);
    values.add(of(file) == buckets ? bucket : coarse(bucket, buckets));
    return values;
  }

  private static Serializable serializable(Object value) {
    if (value instanceof CharSequence text) {
      return text.toString();
    }
    return value instanceof ByteBuffer buffer ? PartitionBytes.of(buffer) : (Serializable) value;
  }

  /** The files of each bucket, if there are so many. */
  public Map<List<Serializable>, List<FileScanTask>> grouped(
      List<FileScanTask> tasks, int buckets) {
    return tasks.stream()
        .collect(
            Collectors.groupingBy(
                task -> partition(task.file(), buckets), LinkedHashMap::new, Collectors.toList()));
  }

  /**
   * Files that may have rows of the same keys.
   *
   * @param partition the bucket as it is named in plans
   * @param of how many buckets there are where it is one
   */
  public record Bucket(List<Serializable> partition, int of, List<FileScanTask> files) {}

  /** The finest buckets into which files can be put: coarse ones only where there are old files. */
  public List<Bucket> apart(List<FileScanTask> tasks) {
    List<Bucket> buckets = new ArrayList<>();
    if (!tasks.isEmpty()) {
      int coarsest = tasks.stream().mapToInt(task -> of(task.file())).min().getAsInt();
      grouped(tasks, coarsest)
          .forEach(
              (partition, files) -> {
                if (files.stream().anyMatch(task -> of(task.file()) == coarsest)) {
                  buckets.add(new Bucket(partition, coarsest, files));
                } else {
                  buckets.addAll(apart(files));
                }
              });
    }
    return buckets;
  }
}
