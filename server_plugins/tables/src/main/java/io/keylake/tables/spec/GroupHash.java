package io.keylake.tables.spec;

import io.keylake.tables.KeyHash;
import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.time.LocalDate;
import java.util.Objects;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.util.ByteBuffers;

/**
 * The group of a key, and the bucket that holds it.
 *
 * <p>What is hashed is the key as a store sees it: the columns of {@code bucket_by} as text in
 * UTF-8, with a colon between them. Whole numbers are decimal, dates are in ISO form, timestamps
 * are microseconds since 1970 in decimal, decimals have all digits of their scale, uuids are in
 * canonical form, booleans are true or false, and binary is as it is.
 */
public final class GroupHash {
  private final KeyGroups groups;
  private final int buckets;
  private final KeyHash hash;
  private final ByteArrayOutputStream key = new ByteArrayOutputStream();
  private boolean isFirst = true;

  /**
   * @param spec of a table with groups
   */
  public GroupHash(TableSpec spec) {
    this.groups = Objects.requireNonNull(spec.groups(), "asked only of a table with key groups");
    this.buckets = spec.buckets();
    this.hash = groups.hasher();
  }

  public GroupHash reset() {
    key.reset();
    isFirst = true;
    return this;
  }

  /** Adds a column of bytes, or of text in UTF-8. */
  public GroupHash add(byte[] value) {
    if (!isFirst) {
      key.write(':');
    }
    isFirst = false;
    key.writeBytes(value);
    return this;
  }

  /**
   * Adds a column.
   *
   * @param value as Iceberg holds it
   */
  public GroupHash add(Type type, Object value) {
    return value instanceof ByteBuffer bytes
        ? add(ByteBuffers.toByteArray(bytes))
        : add(text(type, value).getBytes(StandardCharsets.UTF_8));
  }

  private static String text(Type type, Object value) {
    return switch (type.typeId()) {
      case DATE -> LocalDate.ofEpochDay((Integer) value).toString();
      case DECIMAL -> ((BigDecimal) value).toPlainString();
      default -> value.toString();
    };
  }

  public int group() {
    int group = hash.group(key.toByteArray(), groups.count());
    if (group < 0 || group >= groups.count()) {
      throw new IllegalStateException(
          "the hash class %s gave group %d of %d groups; it must be from 0 to %d"
              .formatted(groups.hash(), group, groups.count(), groups.count() - 1));
    }
    return group;
  }

  public int bucket() {
    return groups.bucket(group(), buckets);
  }
}
