package io.keylake.merge;

import java.util.List;

/**
 * Files of one age whose key ranges are disjoint, in key order.
 *
 * @param age commit order: a larger age is a later commit
 */
public record SortedRun<F>(long age, List<F> files) {
  public SortedRun {
    files = List.copyOf(files);
  }
}
