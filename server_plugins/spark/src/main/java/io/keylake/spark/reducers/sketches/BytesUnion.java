package io.keylake.spark.reducers.sketches;

/** A set, or a sketch of one, that grows by others in the same bytes. */
public interface BytesUnion {
  /** Forgets everything. */
  void clear();

  /**
   * @param contribution as somebody wrote it; bytes of another form are refused
   */
  void add(byte[] contribution);

  /**
   * @param stored what {@link #bytes} of such a union gave
   */
  default void merge(byte[] stored) {
    add(stored);
  }

  byte[] bytes();
}
