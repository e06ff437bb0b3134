package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.jspecify.annotations.Nullable;

/**
 * A write as it is committed. Where versions are commit times, its rows were stored with the time
 * at which they were written, and others may have committed higher versions since. Then the
 * manifest says a higher version of its files, which counts in place of the stored one: no file is
 * written again.
 *
 * @param isOfCommit whether versions are commit times
 */
record VersionedWrite(List<DataFile> files, WriteSummary summary, boolean isOfCommit) {
  VersionedWrite {
    files = List.copyOf(files);
  }

  /** The write for some branches, as they are now. */
  static VersionedWrite of(
      Attempt attempt, List<String> branches, List<DataFile> files, WriteSummary summary) {
    Table table = attempt.transaction().table();
    KeyedSchema schema = KeyedSchema.of(table);
    checkDefinition(table, files);
    boolean isOfCommit = schema.spec().versions() == Versions.COMMIT;
    VersionedWrite written = new VersionedWrite(files, summary, isOfCommit);
    Long highest = null;
    for (String branch : branches) {
      highest = HighestVersion.larger(highest, attempt.parent(branch).highestVersion());
    }
    return highest != null && written.isBelow(highest)
        ? written.raised(table, schema, Math.max(highest, PointInTime.micros(Machine.here().now())))
        : written;
  }

  /** The columns by which files are partitioned have new ids where a table was replaced. */
  private static void checkDefinition(Table table, List<DataFile> files) {
    boolean isOfTable =
        files.stream()
            .map(DataFile::specId)
            .distinct()
            .map(id -> Objects.requireNonNull(table.specs().get(id), "a table keeps its specs"))
            .flatMap(spec -> spec.fields().stream())
            .allMatch(field -> table.schema().findField(field.sourceId()) != null);
    if (!isOfTable) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "table %s was replaced by one of another definition after the write to it began; nothing was written; write again"
              .formatted(table.name()));
    }
  }

  private boolean isBelow(long highest) {
    Long own = summary.maxVersion();
    return isOfCommit && own != null && own < highest;
  }

  /** Ends an attempt where somebody has committed a higher version meanwhile. */
  void check(Parent parent) {
    Long highest = parent.highestVersion();
    if (highest != null && isBelow(highest)) {
      throw Attempt.again();
    }
  }

  private VersionedWrite raised(Table table, KeyedSchema schema, long version) {
    return new VersionedWrite(
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
