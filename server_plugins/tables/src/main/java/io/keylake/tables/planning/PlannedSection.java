package io.keylake.tables.planning;

import io.keylake.merge.SortedRun;
import java.util.List;
import java.util.stream.Stream;

/** A section's plan, with the facts that it came from. */
public record PlannedSection(SectionPlan plan, List<SortedRun<PlannedFile>> runs) {

  public Stream<PlannedFile> files() {
    return runs.stream().flatMap(run -> run.files().stream());
  }

  /** Each key in the section has a row in the answer. */
  boolean isVisible() {
    return files().allMatch(file -> file.facts().visible());
  }

  /** Visible rows that it holds at least: the keys of a run are unique. */
  long sureRows() {
    return isVisible() ? runs.stream().mapToLong(PlannedSection::rows).max().orElse(0) : 0;
  }

  private static long rows(SortedRun<PlannedFile> run) {
    return run.files().stream().mapToLong(file -> file.file().liveRows()).sum();
  }

  long wantedBytes() {
    return files().mapToLong(PlannedFile::wantedBytes).sum();
  }
}
