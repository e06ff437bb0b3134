package io.keylake.tables;

import java.util.List;

/** What commits say of themselves in tests that look elsewhere. */
final class WriteSummaries {
  private WriteSummaries() {}

  static WriteSummary of(String verb) {
    return new WriteSummary(verb, 0, null, null, List.of(), WriteLabels.NONE);
  }
}
