package io.keylake.tables.quarantine;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import java.util.LongSummaryStatistics;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.jspecify.annotations.Nullable;

/**
 * Takes rows out of the quarantine, and brings them to main or leaves them out of both. It gives
 * way where the quarantine has other rows by then.
 *
 * @param plannedAt where the quarantine stood
 * @param isToMain whether the selected rows come to main
 * @param written the locations of files that were written for it
 */
public record Release(
    long plannedAt, List<Part> parts, boolean isToMain, WriteLabels labels, List<String> written)
    implements Change {

  /**
   * The share of one group.
   *
   * @param selected files of selected rows, by the commits that main gets, in their order
   * @param left files of the rows that stay
   */
  public record Part(HeldGroup group, List<List<DataFile>> selected, List<DataFile> left) {
    public Part {
      selected = selected.stream().filter(files -> !files.isEmpty()).map(List::copyOf).toList();
      left = List.copyOf(left);
    }

    private static long rows(Stream<DataFile> files) {
      return files.mapToLong(DataFile::recordCount).sum();
    }

    /** The summary of a commit of some of the rows. */
    private WriteSummary summary(String verb, List<DataFile> files, WriteLabels labels) {
      LongSummaryStatistics versions =
          group.commits().stream()
              .map(CommitLog.Entry::of)
              .flatMap(each -> Stream.of(each.minVersion(), each.maxVersion()))
              .filter(Objects::nonNull)
              .mapToLong(Long::longValue)
              .summaryStatistics();
      boolean hasVersions = versions.getCount() > 0;
      return new WriteSummary(
          verb,
          rows(files.stream()),
          hasVersions ? versions.getMin() : null,
          hasVersions ? versions.getMax() : null,
          group.columns(),
          labels);
    }
  }

  public Release {
    parts = List.copyOf(parts);
    written = List.copyOf(written);
  }

  /** The number of rows that are taken out. */
  public long rows() {
    return Part.rows(
        parts.stream().flatMap(part -> part.selected().stream()).flatMap(List::stream));
  }

  /** The number of rows that stay. */
  public long rowsLeft() {
    return Part.rows(parts.stream().flatMap(part -> part.left().stream()));
  }

  /** The number of files whose rows come to main as they are. */
  public long filesAsTheyAre() {
    return parts.stream()
        .flatMap(part -> part.selected().stream())
        .flatMap(List::stream)
        .filter(file -> !written.contains(file.location()))
        .count();
  }

  @Override
  public void addTo(Attempt attempt) {
    if (!attempt.parent(Quarantine.BRANCH).is(plannedAt)) {
      throw Attempt.stale();
    }
    if (rowsLeft() == 0) {
      attempt.references().removeBranch(Quarantine.BRANCH).commit();
    } else {
      Quarantine.clear(attempt);
      for (Part part : parts) {
        if (!part.left().isEmpty()) {
          WriteSummary left = part.summary(verb(part), part.left(), WriteLabels.NONE);
          HeldWrite.hold(attempt, part.left(), left, part.group().conditions());
        }
      }
    }
    if (isToMain) {
      for (Part part : parts) {
        for (List<DataFile> files : part.selected()) {
          new Append(null, files, part.summary(WriteSummary.RELEASE, files, labels)).addTo(attempt);
        }
      }
    }
  }

  /** The verb of the write that has held the rows back. */
  private static String verb(Part part) {
    return Objects.requireNonNullElse(
        CommitLog.Entry.of(part.group().last()).verb(), WriteSummary.RELEASE);
  }

  /** A release gives way to others, and is planned anew. */
  @Override
  public @Nullable KeylakeException lost(String why) {
    return null;
  }
}
