package io.keylake.spark.mergedstate;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * Keeps files of composed rows few. Each state of a section adds one file at most, and hides those
 * rows of older ones whose keys were written again. Files are written again, all of them as one,
 *
 * <ol>
 *   <li>where {@value #MOST_ALIKE} have about as many rows, so that a section has fewer than that
 *       of each power of {@value #MOST_ALIKE},
 *   <li>where more of the rows of a file are hidden than shown.
 * </ol>
 *
 * <p>What that costs: by the first rule, rows come into a file that has {@value #MOST_ALIKE} times
 * as many. After n states with as many new rows each, a row was written once and log(n) times
 * again, to the base {@value #MOST_ALIKE}: at most twice in all for 255 states, and three times for
 * a day of a state a minute, unless a compaction of the table comes, after which rows stand in its
 * files. By the second rule, for each row that is written again a newer one has hidden another, so
 * that no more are written again than were written.
 */
final class ComposedFiles {
  private static final int MOST_ALIKE = 16;

  private ComposedFiles() {}

  /** The files whose rows are to be written again. */
  static List<StateFile> renewed(List<StateFile> files) {
    List<StateFile> renewed = new ArrayList<>();
    Map<Integer, List<StateFile>> alike = new HashMap<>();
    for (StateFile file : files) {
      long shown = file.shownRows();
      if (2 * shown < file.file().recordCount()) {
        renewed.add(file);
      } else {
        alike.computeIfAbsent(power(shown), power -> new ArrayList<>()).add(file);
      }
    }
    alike.values().stream().filter(each -> each.size() >= MOST_ALIKE).forEach(renewed::addAll);
    return renewed;
  }

  /** The largest power of {@link #MOST_ALIKE} that is not above a number of rows. */
  private static int power(long rows) {
    int power = 0;
    for (long left = rows; left >= MOST_ALIKE; left /= MOST_ALIKE) {
      power++;
    }
    return power;
  }
}
