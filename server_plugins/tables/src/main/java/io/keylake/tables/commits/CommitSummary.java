package io.keylake.tables.commits;

import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The summary of a commit: its properties, and which writes of other commits it makes again, takes
 * in or takes back.
 *
 * @param summary its own properties; those that every commit carries on are added to them
 * @param sameAs the commits whose writes it makes again, all of them
 * @param takesIn further commits of which nothing is missing on the branch from now on
 * @param copied files that come to the branch without all of the commit that has written them
 * @param undone the ids of the snapshots whose writes it takes back
 * @param isAnew whether nothing counts as taken in that the branch has taken in before
 */
public record CommitSummary(
    Map<String, String> summary,
    NumberSet sameAs,
    NumberSet takesIn,
    List<Copied> copied,
    List<Long> undone,
    boolean isAnew) {

  /**
   * Files, or a part of an overwrite, that came without the rest of their commit.
   *
   * @param of the commits that have made the same writes
   * @param locations of the files
   * @param replaces what part of an overwrite was made again, as Iceberg's expression in JSON; null
   *     for none
   * @param isGone whether they were taken out instead
   */
  public record Copied(
      NumberSet of, Set<String> locations, @Nullable String replaces, boolean isGone) {
    public Copied {
      locations = Set.copyOf(locations);
    }
  }

  public CommitSummary {
    summary = Map.copyOf(summary);
    copied = List.copyOf(copied);
    undone = List.copyOf(undone);
  }

  /**
   * @param isOnlyOne whether nothing is left of what was written before
   */
  static CommitSummary ofWrite(WriteSummary summary, boolean isOnlyOne, Parent parent) {
    Map<String, String> said = new LinkedHashMap<>(parent.settled().properties());
    said.putAll(summary.properties(isOnlyOne && summary.hasOnlyVisibleRows()));
    WriteLabels labels = summary.labels();
    if (labels.watermark() != null) {
      said.putAll(Watermarks.of(labels.stream(), labels.watermark()).properties());
    }
    return of(said);
  }

  /**
   * The facts of a commit after which all rows and files are as before.
   *
   * @param reason why it was made
   */
  static CommitSummary ofSameRows(Parent parent, String reason) {
    Map<String, String> said = new LinkedHashMap<>(parent.settled().properties());
    said.putAll(WriteSummary.compaction(0, reason, 0, parent.highestVersion()));
    said.put(WriteSummary.PLAIN_READS, parent.isSafeForPlainReads() ? "safe" : "unmerged");
    return of(said);
  }

  public static CommitSummary of(Map<String, String> summary) {
    return new CommitSummary(
        summary, NumberSet.EMPTY, NumberSet.EMPTY, List.of(), List.of(), false);
  }

  public CommitSummary with(String name, String value) {
    Map<String, String> more = new LinkedHashMap<>(summary);
    more.put(name, value);
    return new CommitSummary(more, sameAs, takesIn, copied, undone, isAnew);
  }

  /** The same of a commit that makes others again. */
  public CommitSummary sameAs(NumberSet commits) {
    return new CommitSummary(summary, commits, takesIn, copied, undone, isAnew);
  }

  public CommitSummary takingIn(NumberSet commits) {
    return new CommitSummary(summary, sameAs, commits, copied, undone, isAnew);
  }

  public CommitSummary copying(List<Copied> parts) {
    return new CommitSummary(summary, sameAs, takesIn, parts, undone, isAnew);
  }

  public CommitSummary undoing(List<Long> snapshotIds) {
    return new CommitSummary(summary, sameAs, takesIn, copied, snapshotIds, isAnew);
  }

  /** The same of a commit with which a branch begins anew. */
  public CommitSummary anew() {
    return new CommitSummary(summary, sameAs, takesIn, copied, undone, true);
  }
}
