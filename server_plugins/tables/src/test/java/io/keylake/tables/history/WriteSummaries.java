package io.keylake.tables.history;

import java.util.List;

/** What commits say of themselves in tests that look elsewhere. */
public final class WriteSummaries {
  private WriteSummaries() {}

  public static WriteSummary of(String verb) {
    return new WriteSummary(verb, 0, null, null, List.of(), WriteLabels.NONE);
  }
}
