package io.keylake.tables.planning;

import java.io.Serializable;
import org.apache.iceberg.types.Type;
import org.jspecify.annotations.Nullable;

/**
 * A part of a section that one task reads: the rows whose first sort column lies in [lower, upper),
 * or, where both are the same, has that value. A boundary is a {@code Long} (whole numbers, days,
 * microseconds) or a {@code String} (the order is that of UTF-8 bytes), and need not be the key of
 * any row.
 *
 * @param lower null where the slice has no lower end
 * @param upper null where the slice has no upper end
 */
public record KeySlice(@Nullable Serializable lower, @Nullable Serializable upper)
    implements Serializable {

  /** Sections can be cut by a column of this type. */
  static boolean cuts(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG, DATE, TIMESTAMP, STRING -> true;
      default -> false;
    };
  }

  /** Rows with one value of the first sort column; null where its type cannot be cut by. */
  public static @Nullable KeySlice at(Type type, Object value) {
    Serializable boundary = cuts(type) ? boundary(value) : null;
    return boundary == null ? null : new KeySlice(boundary, boundary);
  }

  /** A value as Iceberg has it, as a boundary. */
  static @Nullable Serializable boundary(@Nullable Object value) {
    if (value == null) {
      return null;
    }
    return value instanceof CharSequence text
        ? (Serializable) text.toString()
        : Long.valueOf(((Number) value).longValue());
  }

  public boolean isOneValue() {
    return lower != null && lower.equals(upper);
  }
}
