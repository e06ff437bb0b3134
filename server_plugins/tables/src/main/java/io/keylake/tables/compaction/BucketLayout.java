package io.keylake.tables.compaction;

import io.keylake.tables.history.Settling;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;

/**
 * A picture of one bucket at one moment, as compaction rules look at it: pure, so that a rule can
 * be tried on any picture.
 *
 * @param runs what each commit left in the bucket, oldest first; their ages differ, but for a run
 *     of rows that were late
 * @param keys how many keys each section is taken to have: the rows of its largest run
 */
public record BucketLayout(List<Run> runs, Instant now, Map<Integer, Long> keys) {
  public BucketLayout {
    runs = List.copyOf(runs);
    keys = Map.copyOf(keys);
  }

  static BucketLayout of(List<Run> runs, Instant now) {
    Map<Integer, Long> keys = new HashMap<>();
    for (Run run : runs) {
      rowsBySection(run).forEach((section, rows) -> keys.merge(section, rows, Math::max));
    }
    return new BucketLayout(runs, now, keys);
  }

  /** The bucket without its newest runs, as far as they are young and small altogether. */
  BucketLayout withoutRecent(CompactionPolicy policy) {
    Instant young = now.minus(policy.recent());
    int to = runs.size();
    long bytes = 0;
    while (to > 0 && runs.get(to - 1).committedAt().isAfter(young)) {
      bytes += runs.get(to - 1).bytes();
      if (bytes >= policy.smallBytes()) {
        break;
      }
      to--;
    }
    return to == runs.size() ? this : new BucketLayout(runs.subList(0, to), now, keys);
  }

  /**
   * The files of one commit, or of one earlier compaction.
   *
   * @param age its place in the order of commits
   * @param committedAt when the youngest commit in it was made, or later
   * @param hasTombstones whether a row of it may hold one
   * @param hasWholeRows whether each row that is written has all columns
   * @param isOfFewer whether a file was written when the table had fewer buckets
   * @param lacksIndex whether a file was written before the table had all of its indices
   */
  public record Run(
      long age,
      Instant committedAt,
      boolean hasTombstones,
      boolean hasWholeRows,
      boolean isOfFewer,
      boolean lacksIndex,
      Settling settling,
      List<File> files) {
    public Run {
      files = List.copyOf(files);
    }

    /** The run with only those files. */
    Run of(Predicate<File> kept) {
      List<File> some = files.stream().filter(kept).toList();
      return new Run(
          age, committedAt, hasTombstones, hasWholeRows, isOfFewer, lacksIndex, settling, some);
    }

    Set<Integer> sections() {
      return files.stream().map(File::section).collect(Collectors.toSet());
    }

    public long bytes() {
      return files.stream().mapToLong(File::bytes).sum();
    }

    public long rows() {
      return files.stream().mapToLong(File::rows).sum();
    }
  }

  /**
   * One file.
   *
   * @param superseded how many of its rows are recorded as superseded
   * @param keyBytes what its keys and versions take of its bytes
   * @param section the number of the section that it lies in: files of different sections do not
   *     overlap
   */
  public record File(
      String location, long bytes, long rows, long superseded, long keyBytes, int section) {}

  /** Neighbouring runs, from one to before another. */
  record Stretch(BucketLayout layout, int from, int to) {
    List<Run> runs() {
      return layout.runs().subList(from, to);
    }

    int size() {
      return to - from;
    }

    long bytes() {
      return runs().stream().mapToLong(Run::bytes).sum();
    }

    long rows() {
      return runs().stream().mapToLong(Run::rows).sum();
    }

    /** No read has to merge the bucket; the answer is of no use to a policy that only merges. */
    boolean isSettled(CompactionPolicy policy) {
      return policy.settleShare() != null
          && runs().stream().allMatch(run -> run.settling() == Settling.DONE);
    }

    /**
     * The share of its rows that a merge is expected to free, which of settled runs is known. Of
     * the others, the largest run of a section is taken for all keys there are, and the rows of
     * every run for keys drawn from these: metadata says no more.
     */
    double freedShare(CompactionPolicy policy) {
      return isSettled(policy) ? supersededShare() : estimatedShare();
    }

    private double supersededShare() {
      long superseded =
          runs().stream().flatMap(run -> run.files().stream()).mapToLong(File::superseded).sum();
      return rows() == 0 ? 0 : (double) superseded / rows();
    }

    private double estimatedShare() {
      Map<Integer, Double> untouched = new HashMap<>();
      for (Run run : runs()) {
        rowsBySection(run)
            .forEach(
                (section, rows) ->
                    untouched.merge(
                        section,
                        1 - (double) rows / layout.keysOf(section),
                        (one, two) -> one * two));
      }
      double kept = 0;
      for (Map.Entry<Integer, Double> section : untouched.entrySet()) {
        kept += layout.keysOf(section.getKey()) * (1 - section.getValue());
      }
      return rows() == 0 ? 0 : Math.max(1 - kept / rows(), 0);
    }
  }

  private static Map<Integer, Long> rowsBySection(Run run) {
    Map<Integer, Long> rows = new HashMap<>();
    run.files().forEach(file -> rows.merge(file.section(), file.rows(), Long::sum));
    return rows;
  }

  private long keysOf(int section) {
    return Objects.requireNonNull(keys.get(section), "keys are counted for every section of a run");
  }

  /** All runs. */
  Stretch all() {
    return stretch(0, runs.size());
  }

  Stretch stretch(int from, int to) {
    return new Stretch(this, from, to);
  }

  /** Runs that a read merges in some key range at most; those that are settled need no merge. */
  public int depth() {
    Map<Integer, Integer> depths = new HashMap<>();
    Set<Integer> open = new HashSet<>();
    for (Run run : runs) {
      for (int section : run.sections()) {
        depths.merge(section, 1, Integer::sum);
        if (run.settling() != Settling.DONE) {
          open.add(section);
        }
      }
    }
    return depths.entrySet().stream()
        .mapToInt(section -> open.contains(section.getKey()) ? section.getValue() : 1)
        .max()
        .orElse(0);
  }

  public long bytes() {
    return stretch(0, runs.size()).bytes();
  }

  public int files() {
    return runs.stream().mapToInt(run -> run.files().size()).sum();
  }
}
