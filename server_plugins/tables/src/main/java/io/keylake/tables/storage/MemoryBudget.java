package io.keylake.tables.storage;

import io.keylake.tables.GuestApi;

/** Memory that several indexes share. Safe for several threads. */
@GuestApi
public interface MemoryBudget {

  /** Takes so many bytes; returns false, with nothing changed, where they cannot be had. */
  boolean take(long bytes);

  /** Gives back bytes that were taken. */
  void give(long bytes);
}
