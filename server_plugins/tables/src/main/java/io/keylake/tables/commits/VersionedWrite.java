package io.keylake.tables.commits;

import io.keylake.tables.Machine;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * A write as it is committed. Where versions are commit times, its rows were stored with the time
 * at which they were written, and others may have committed higher versions since. Then the
 * manifest says a higher version of its files, which counts in place of the stored one: no file is
 * written again.
 *
 * @param isOfCommit whether versions are commit times
 */
record VersionedWrite(
    String table, List<DataFile> files, WriteSummary summary, boolean isOfCommit) {
  VersionedWrite {
    files = List.copyOf(files);
  }

  /** The write for some branches, as they are now. */
  static VersionedWrite of(
      Attempt attempt, List<String> branches, List<DataFile> files, WriteSummary summary) {
    Table table = attempt.transaction().table();
    KeyedSchema schema = KeyedSchema.of(table);
    boolean isOfCommit = schema.spec().versions() == Versions.COMMIT;
    VersionedWrite written = new VersionedWrite(table.name(), files, summary, isOfCommit);
    written.checkDefinition(table.schema(), table.specs());
    Long highest = null;
    for (String branch : branches) {
      highest = HighestVersion.larger(highest, attempt.parent(branch).highestVersion());
    }
    return highest != null && written.isBelow(highest)
        ? written.raised(table, schema, Math.max(highest, PointInTime.micros(Machine.here().now())))
        : written;
  }

  /**
   * Refuses files of an earlier definition: where a table was replaced, its columns have new ids,
   * those by which it is partitioned, and also the hidden ones of versions, of which the manifest
   * of each file says how many values there are.
   */
  private void checkDefinition(Schema schema, Map<Integer, PartitionSpec> specs) {
    NestedField version = schema.findField(KeyedSchema.MERGE_INFO + "." + KeyedSchema.VERSION);
    boolean isOfTable =
        version != null
            && files.stream()
                .allMatch(
                    file ->
                        isDividedBy(schema, specs.get(file.specId()))
                            && isOf(schema, version, file.valueCounts()));
    if (!isOfTable) {
      throw OlderDefinition.replaced(table);
    }
  }

  private static boolean isDividedBy(Schema schema, @Nullable PartitionSpec spec) {
    return spec != null
        && spec.fields().stream().allMatch(field -> schema.findField(field.sourceId()) != null);
  }

  private static boolean isOf(
      Schema schema, NestedField version, @Nullable Map<Integer, Long> counts) {
    return counts == null
        || counts.containsKey(version.fieldId())
        || counts.keySet().stream().allMatch(id -> schema.findField(id) != null);
  }

  private boolean isBelow(long highest) {
    Long own = summary.maxVersion();
    return isOfCommit && own != null && own < highest;
  }

  /** Ends an attempt where somebody has committed a higher version, or replaced the table. */
  void check(Parent parent) {
    checkDefinition(parent.metadata().schema(), parent.metadata().specsById());
    Long highest = parent.highestVersion();
    if (highest != null && isBelow(highest)) {
      throw Attempt.again();
    }
  }

  private VersionedWrite raised(Table table, KeyedSchema schema, long version) {
    return new VersionedWrite(
        table.name(),
        files.stream().map(file -> raised(table, schema, file, version)).toList(),
        summary.withVersion(version),
        isOfCommit);
  }

  private static DataFile raised(Table table, KeyedSchema schema, DataFile file, long version) {
    int leaf = schema.version().fieldId();
    Metrics metrics =
        new Metrics(
            file.recordCount(),
            file.columnSizes(),
            file.valueCounts(),
            file.nullValueCounts(),
            file.nanValueCounts(),
            with(file.lowerBounds(), leaf, version),
            with(file.upperBounds(), leaf, version));
    return DataFiles.builder(table.specs().get(file.specId()))
        .copy(file)
        .withMetrics(metrics)
        .build();
  }

  private static Map<Integer, ByteBuffer> with(
      @Nullable Map<Integer, ByteBuffer> bounds, int leaf, long version) {
    Map<Integer, ByteBuffer> raised = bounds == null ? new HashMap<>() : new HashMap<>(bounds);
    raised.put(leaf, Conversions.toByteBuffer(Types.LongType.get(), version));
    return raised;
  }
}
