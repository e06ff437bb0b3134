package io.keylake.tables.planning;

import io.keylake.merge.Presence;
import io.keylake.tables.planning.FileFacts.VersionRange;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The amount of what some files hold, and its bounds, as their manifests say them.
 *
 * @param liveRows those of the rows that are not recorded as superseded
 * @param lower no key is below these values; null where that is not known
 * @param upper no key is above these values; null where that is not known
 * @param minVersion nothing in the files has a version below it; null where that is not known
 * @param maxVersion nothing in the files has a version above it; null where that is not known
 * @param columns value columns that some row may carry, in schema order
 * @param hasTombstones whether a row may hold one
 */
public record Extent(
    long files,
    long rows,
    long liveRows,
    long bytes,
    @Nullable List<Object> lower,
    @Nullable List<Object> upper,
    @Nullable Long minVersion,
    @Nullable Long maxVersion,
    List<String> columns,
    boolean hasTombstones) {

  /**
   * @param files with the statistics of keys and version leaves; at least one
   */
  public static Extent of(Collection<FileScanTask> files, KeyedSchema schema) {
    List<NestedField> leaves = schema.leaves().fields();
    List<FileFacts> facts =
        files.stream().map(task -> FileFacts.of(task.file(), schema, leaves)).toList();
    Comparator<KeyBound> order = KeyBound.order(schema.key());
    VersionRange versions =
        facts.stream().map(FileFacts::versions).reduce(VersionRange::and).orElseThrow();
    return new Extent(
        files.size(),
        files.stream().mapToLong(task -> task.file().recordCount()).sum(),
        files.stream().mapToLong(Extent::liveRows).sum(),
        files.stream().mapToLong(task -> task.file().fileSizeInBytes()).sum(),
        known(bounds(files, file -> FileFacts.lower(file, schema.key())).min(order).orElseThrow()),
        known(bounds(files, file -> FileFacts.upper(file, schema.key())).max(order).orElseThrow()),
        versions.min() == VersionRange.ANY.min() ? null : versions.min(),
        versions.max() == VersionRange.ANY.max() ? null : versions.max(),
        columns(files, schema),
        facts.stream().anyMatch(each -> each.deleted() != Presence.NEVER));
  }

  private static Stream<KeyBound> bounds(
      Collection<FileScanTask> files, Function<DataFile, KeyBound> bound) {
    return files.stream().map(task -> bound.apply(task.file()));
  }

  private static long liveRows(FileScanTask task) {
    return task.file().recordCount()
        - task.deletes().stream().mapToLong(DeleteFile::recordCount).sum();
  }

  private static @Nullable List<Object> known(KeyBound bound) {
    return bound.infinite() == 0 ? bound.values() : null;
  }

  private static List<String> columns(Collection<FileScanTask> files, KeyedSchema schema) {
    Set<Integer> carried = new HashSet<>();
    for (NestedField leaf : schema.leaves().fields()) {
      if (files.stream()
          .anyMatch(task -> FileFacts.presence(task.file(), schema, leaf) != Presence.NEVER)) {
        carried.add(leaf.fieldId());
      }
    }
    return schema.values().stream()
        .filter(value -> carried.contains(schema.leafOf(value).fieldId()))
        .map(NestedField::name)
        .collect(Collectors.toCollection(ArrayList::new));
  }
}
