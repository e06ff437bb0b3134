package io.keylake.tables.planning;

import io.keylake.merge.Presence;
import io.keylake.tables.spec.KeyedSchema;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The facts that the manifest has about one file, so that its bytes need not be asked: who is in
 * it, which columns it carries, and between which versions. Whatever the manifest does not say is
 * assumed in the way that reads more, never less.
 *
 * @param written whether every row's newest write is at the row's version
 * @param visible whether every row holds a surviving write, at whatever version
 * @param versions all stamps of the wanted columns lie in this range
 */
public record FileFacts(
    KeyBound lower,
    KeyBound upper,
    Presence written,
    boolean visible,
    Presence deleted,
    VersionRange versions) {

  /** A closed range of versions. */
  record VersionRange(long min, long max) {
    static final VersionRange ANY = new VersionRange(Long.MIN_VALUE, Long.MAX_VALUE);

    VersionRange and(VersionRange other) {
      return new VersionRange(Math.min(min, other.min), Math.max(max, other.max));
    }
  }

  /**
   * @param leaves the version leaves of the wanted columns: only their lags can matter
   */
  public static FileFacts of(DataFile file, KeyedSchema schema, Collection<NestedField> leaves) {
    List<NestedField> sortKey = schema.sortKey();
    return new FileFacts(
        lower(file, sortKey),
        upper(file, sortKey),
        presence(file, schema, schema.written()),
        count(file.nullValueCounts(), schema.written()) == 0,
        presence(file, schema, schema.deleted()),
        versions(file, schema, leaves));
  }

  /** The range of keys has something in common with that of another file. */
  public boolean meets(FileFacts other, KeyedSchema schema) {
    Comparator<KeyBound> order = KeyBound.order(schema.sortKey());
    return order.compare(lower, other.upper) <= 0 && order.compare(other.lower, upper) <= 0;
  }

  static KeyBound lower(DataFile file, List<NestedField> fields) {
    List<Object> values = bounds(file.lowerBounds(), fields);
    return values.contains(null) ? KeyBound.LOWEST : new KeyBound(values, 0);
  }

  static KeyBound upper(DataFile file, List<NestedField> fields) {
    List<Object> values = bounds(file.upperBounds(), fields);
    return values.contains(null) ? KeyBound.HIGHEST : new KeyBound(values, 0);
  }

  private static List<Object> bounds(
      @Nullable Map<Integer, ByteBuffer> bounds, List<NestedField> fields) {
    List<Object> values = new ArrayList<>();
    fields.forEach(field -> values.add(bound(bounds, field)));
    return values;
  }

  /** Each row of a file that is written carries all columns. */
  public static boolean hasWholeRows(DataFile file, KeyedSchema schema) {
    long unwritten = count(file.nullValueCounts(), schema.written());
    return unwritten >= 0
        && schema.leaves().fields().stream()
            .allMatch(leaf -> count(file.nullValueCounts(), leaf) == unwritten);
  }

  /**
   * The presence of what a version leaf stands for in the rows of a file.
   *
   * @param leaf one whose statistics came along with the file, if it has any
   */
  public static Presence presence(DataFile file, KeyedSchema schema, NestedField leaf) {
    long nulls = count(file.nullValueCounts(), leaf);
    if ((nulls >= 0 && nulls == count(file.valueCounts(), leaf)) || isOlder(file, schema, leaf)) {
      return Presence.NEVER;
    }
    return nulls == 0 && isZero(file.lowerBounds(), leaf) && isZero(file.upperBounds(), leaf)
        ? Presence.ALWAYS
        : Presence.PER_ROW;
  }

  /**
   * A file is from a writer that did not know the column yet: ids only grow, and whoever knows a
   * leaf says its statistics. A file that says them is asked for this one alone: it can have
   * thousands of others.
   */
  private static boolean isOlder(DataFile file, KeyedSchema schema, NestedField leaf) {
    Map<Integer, Long> counts = file.valueCounts();
    return counts != null
        && counts.containsKey(schema.written().fieldId())
        && !counts.containsKey(leaf.fieldId())
        && counts.keySet().stream().allMatch(id -> id < leaf.fieldId());
  }

  private static boolean isZero(@Nullable Map<Integer, ByteBuffer> bounds, NestedField leaf) {
    return bound(bounds, leaf) instanceof Long value && value == 0;
  }

  /**
   * The row versions of the file, stretched downwards by the largest lag that a wanted leaf has.
   */
  private static VersionRange versions(
      DataFile file, KeyedSchema schema, Collection<NestedField> wanted) {
    VersionRange range = null;
    for (NestedField source : versionSources(file, schema)) {
      if (presence(file, schema, source) == Presence.NEVER) {
        continue;
      }
      Object min = bound(file.lowerBounds(), source);
      Object max = bound(file.upperBounds(), source);
      if (min == null || max == null) {
        return VersionRange.ANY;
      }
      VersionRange own = new VersionRange(((Number) min).longValue(), ((Number) max).longValue());
      range = range == null ? own : range.and(own);
    }
    if (range == null) {
      return VersionRange.ANY;
    }
    long lag = largestLag(file, schema, wanted);
    long min = range.min() - lag;
    boolean unknown = lag < 0 || min > range.min();
    return unknown ? VersionRange.ANY : new VersionRange(min, range.max());
  }

  /**
   * The fields in which the row versions of the file stand: the ordering column counts only where
   * none is stored.
   */
  private static List<NestedField> versionSources(DataFile file, KeyedSchema schema) {
    boolean isStored = count(file.nullValueCounts(), schema.version()) == 0;
    return isStored || schema.ordering() == null
        ? List.of(schema.version())
        : List.of(schema.version(), schema.ordering());
  }

  /**
   * The version that all rows of a file have, as its manifest says it; null where it says no single
   * one. It may be higher than the stored ones: that of a commit is known for certain only when the
   * commit is made.
   */
  static @Nullable Long onlyVersion(DataFile file, KeyedSchema schema) {
    Object min = bound(file.lowerBounds(), schema.version());
    Object max = bound(file.upperBounds(), schema.version());
    boolean isOnly =
        min != null && min.equals(max) && count(file.nullValueCounts(), schema.version()) == 0;
    return isOnly ? (Long) min : null;
  }

  /** The largest lag of the file, or -1 when the manifest does not say. */
  private static long largestLag(
      DataFile file, KeyedSchema schema, Collection<NestedField> wanted) {
    List<NestedField> leaves = new ArrayList<>(wanted);
    leaves.add(schema.written());
    leaves.add(schema.deleted());
    long largest = 0;
    for (NestedField leaf : leaves) {
      if (presence(file, schema, leaf) == Presence.PER_ROW) {
        Object min = bound(file.lowerBounds(), leaf);
        Object max = bound(file.upperBounds(), leaf);
        if (!(min instanceof Long least) || !(max instanceof Long most) || least < 0) {
          return -1;
        }
        largest = Math.max(largest, most);
      }
    }
    return largest;
  }

  private static long count(@Nullable Map<Integer, Long> counts, NestedField field) {
    Long count = counts == null ? null : counts.get(field.fieldId());
    return count == null ? -1 : count;
  }

  private static @Nullable Object bound(
      @Nullable Map<Integer, ByteBuffer> bounds, NestedField field) {
    ByteBuffer bytes = bounds == null ? null : bounds.get(field.fieldId());
    Type type = field.type();
    return bytes == null ? null : Conversions.fromByteBuffer(type, bytes.duplicate());
  }
}
