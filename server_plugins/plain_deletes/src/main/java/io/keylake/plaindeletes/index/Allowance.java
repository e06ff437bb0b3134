package io.keylake.plaindeletes.index;

import io.keylake.tables.storage.MemoryBudget;

/**
 * The memory of one index: one page that it always has, and what it takes from the budget beyond
 * that, a page at a time.
 */
final class Allowance {
  static final long PAGE_BYTES = 1 << 20;

  private final MemoryBudget budget;
  private long taken;
  private long used;

  Allowance(MemoryBudget budget) {
    this.budget = budget;
  }

  /** Uses so many bytes more; returns false, with nothing changed, where they may not be used. */
  boolean use(long bytes) {
    long missing = used + bytes - PAGE_BYTES - taken;
    if (missing > 0) {
      long pages = (missing + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
      if (!budget.take(pages)) {
        return false;
      }
      taken += pages;
    }
    used += bytes;
    return true;
  }

  /** Bytes that are no longer used. */
  void free(long bytes) {
    used -= bytes;
    long spare = Math.max(taken + PAGE_BYTES - Math.max(used, PAGE_BYTES), 0) / PAGE_BYTES;
    if (spare > 0) {
      budget.give(spare * PAGE_BYTES);
      taken -= spare * PAGE_BYTES;
    }
  }

  long used() {
    return used;
  }
}
