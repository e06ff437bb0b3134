package io.keylake.tables.storage;

import io.keylake.tables.GuestApi;

/** Memory that several indexes share. Safe for several threads. */
@GuestApi
public interface MemoryBudget {

  /** Whether so many bytes could be had; if not, nothing has changed. */
  boolean take(long bytes);

  /** Gives back bytes that were taken. */
  void give(long bytes);
}
