package io.keylake.merge;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;
import java.util.stream.Stream;

/**
 * A key range and the runs that overlap there. Sections of a bucket never overlap and follow each
 * other in key order, so each is read by itself: one run is passed through, several are merged.
 *
 * <pre>
 *   commit 3        [----]                  section 1: a-d, runs 1 and 3
 *   commit 2                    [-----]     section 2: f-j, run 2
 *   commit 1   [--------]             [---] section 3: k-m, run 1
 *              a        d       f     j k m
 * </pre>
 *
 * @param runs oldest first
 */
public record Section<F>(List<SortedRun<F>> runs) {
  public Section {
    runs = List.copyOf(runs);
  }

  /**
   * Cuts files into sections.
   *
   * @param lower the smallest key of a file, or a bound below it
   * @param upper the largest key of a file, or a bound above it
   * @param age commit order; files of one age form one run where their ranges are disjoint
   */
  public static <F, K> List<Section<F>> cut(
      List<F> files,
      Function<F, K> lower,
      Function<F, K> upper,
      ToLongFunction<F> age,
      Comparator<K> order) {
    List<F> byLower = new ArrayList<>(files);
    byLower.sort(Comparator.comparing(lower, order));
    List<Section<F>> sections = new ArrayList<>();
    List<F> overlapping = new ArrayList<>();
    K end = null;
    for (F file : byLower) {
      if (!overlapping.isEmpty() && order.compare(lower.apply(file), end) > 0) {
        sections.add(new Section<>(runs(overlapping, lower, upper, age, order)));
        overlapping.clear();
        end = null;
      }
      overlapping.add(file);
      K fileEnd = upper.apply(file);
      end = end == null || order.compare(fileEnd, end) > 0 ? fileEnd : end;
    }
    if (!overlapping.isEmpty()) {
      sections.add(new Section<>(runs(overlapping, lower, upper, age, order)));
    }
    assert areApart(sections, lower, upper, order) : sections;
    assert sections.stream().flatMap(Section::files).count() == files.size() : sections;
    return sections;
  }

  private Stream<F> files() {
    return runs.stream().flatMap(run -> run.files().stream());
  }

  /** Each section ends before the next begins, and each file before the next of its run. */
  private static <F, K> boolean areApart(
      List<Section<F>> sections, Function<F, K> lower, Function<F, K> upper, Comparator<K> order) {
    K end = null;
    for (Section<F> section : sections) {
      K first = section.files().map(lower).min(order).orElseThrow();
      if (end != null && order.compare(end, first) >= 0) {
        return false;
      }
      end = section.files().map(upper).max(order).orElseThrow();
      for (SortedRun<F> run : section.runs()) {
        for (int file = 1; file < run.files().size(); file++) {
          K before = upper.apply(run.files().get(file - 1));
          if (order.compare(before, lower.apply(run.files().get(file))) >= 0) {
            return false;
          }
        }
      }
    }
    return true;
  }

  private static <F, K> List<SortedRun<F>> runs(
      List<F> byLower,
      Function<F, K> lower,
      Function<F, K> upper,
      ToLongFunction<F> age,
      Comparator<K> order) {
    List<F> byAge = new ArrayList<>(byLower);
    byAge.sort(Comparator.comparingLong(age)); // stable: still by lower bound within an age
    List<SortedRun<F>> runs = new ArrayList<>();
    List<F> run = new ArrayList<>();
    for (F file : byAge) {
      F last = run.isEmpty() ? null : run.get(run.size() - 1);
      boolean continues =
          last != null
              && age.applyAsLong(last) == age.applyAsLong(file)
              && order.compare(upper.apply(last), lower.apply(file)) < 0;
      if (last != null && !continues) {
        runs.add(new SortedRun<>(age.applyAsLong(last), run));
        run = new ArrayList<>();
      }
      run.add(file);
    }
    runs.add(new SortedRun<>(age.applyAsLong(run.get(0)), run));
    return runs;
  }
}
