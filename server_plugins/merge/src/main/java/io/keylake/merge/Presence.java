package io.keylake.merge;

/**
 * Says whether the rows of one run carry something: a write, a tombstone, or the values of a column
 * class.
 */
public enum Presence {
  /** Every row carries it, at the row's own version. Nothing has to be read to know that. */
  ALWAYS,
  /** No row carries it. */
  NEVER,
  /** The rows differ: the stamps of the run say where, and at which version. */
  PER_ROW;

  /** The presence in two stretches of one run taken together. */
  public Presence and(Presence other) {
    return this == other ? this : PER_ROW;
  }
}
