package io.keylake.tables.deletes;

/** Memory that several indexes share. Safe for several threads. */
public interface MemoryBudget {

  /** Whether so many bytes could be had; if not, nothing has changed. */
  boolean take(long bytes);

  /** Gives back bytes that were taken. */
  void give(long bytes);
}
