package io.keylake.merge;

import org.jspecify.annotations.Nullable;

/**
 * A reducer of one's own: it combines all contributions to a column of one key.
 *
 * <p>The class is public and has a public constructor without arguments. A server loads it where
 * its setting {@code spark.keylake.reducers} names it. One object serves key after key, in one
 * thread; {@link #clear} begins the next.
 *
 * <p>Contributions are added one by one, and what was combined of some of them is stored: a value,
 * which users read, and where that does not say all, a state beside it. Later, stored values are
 * combined, in any grouping. Each grouping has to give the same value; the server tries that before
 * it accepts a column.
 *
 * <p>Values are plain objects by the type of the column: Boolean, Integer, Long, Float, Double,
 * {@link java.math.BigDecimal}, String, {@code byte[]}, {@link java.time.LocalDate}, {@link
 * java.time.Instant} of timestamps with a time zone, {@link java.time.LocalDateTime} of those
 * without; {@link java.util.List} of lists, {@link java.util.Map} of maps, and of structs a {@code
 * Map} of the members by name. Members and elements can be null, contributions are not. Binary
 * columns have values of any form.
 */
public interface Reducer {

  /**
   * Columns of a type can have the reducer.
   *
   * @param type as Iceberg writes it: {@code long}, {@code decimal(9, 2)}, {@code list<string>}
   */
  boolean takes(String type);

  /**
   * The order of contributions matters. It is that of commits, and within a commit that of
   * versions.
   */
  default boolean isOrdered() {
    return false;
  }

  /** Forgets all contributions. */
  void clear();

  /**
   * Takes a contribution as somebody wrote it. An {@link IllegalArgumentException} refuses the
   * write, with its message.
   */
  void add(Object contribution);

  /**
   * Takes what was combined before.
   *
   * @param value what {@link #value} gave
   * @param state what {@link #state} gave
   */
  void combine(@Nullable Object value, byte @Nullable [] state);

  /** The value of the column; asked only where there are contributions. */
  @Nullable Object value();

  /** The state that {@link #combine} needs beside the value; null where the value says all. */
  default byte @Nullable [] state() {
    return null;
  }
}
