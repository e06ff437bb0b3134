package io.keylake.tables.lateness;

import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.apache.iceberg.DataFile;

/**
 * The order of the files of one bucket, in which the later of two equal versions wins. It is that
 * of commits, but for late files, which merges of timely ones leave where they are:
 *
 * <pre>
 *   before           1 timely   2 late   3 timely
 *   timely merged    2 late     3 timely, of commits 1 and 3
 * </pre>
 *
 * <p>The late rows of commit 2 come after those of commit 1, whose versions may be equal. Those of
 * commit 3 have no equal versions if its limit is not lower than that of commit 2, as is usual: a
 * watermark does not go back. So a late file comes after all timely ones, but before those that
 * began after it with a lower limit.
 */
public final class FileOrder {
  private final Map<String, Long> ranks; // empty where the order is that of commits

  private FileOrder(Map<String, Long> ranks) {
    this.ranks = ranks;
  }

  /**
   * A file by what its order depends on.
   *
   * @param number of the commit that it counts as
   */
  record Ordered(String location, long number, FileMark mark) {
    static Ordered of(DataFile file) {
      return new Ordered(file.location(), file.dataSequenceNumber(), FileMark.of(file));
    }

    /** The rows were late, so that the file is no run with others of its number. */
    boolean isMixed() {
      return FileMark.isMixed(location);
    }

    /** The number of the oldest commit of its rows. */
    long oldest() {
      Long since = mark.since();
      return since == null ? number : since;
    }

    /** Timely rows may have versions that late rows have, too, which were written before them. */
    boolean comesAfter(Ordered late) {
      return oldest() > late.number && mayTie(late);
    }

    /** Timely rows may have versions that late rows have, too. */
    boolean mayTie(Ordered late) {
      Long limit = mark.limit();
      Long below = late.mark.limit();
      return below == null || limit == null || limit < below;
    }
  }

  /**
   * A place in the order.
   *
   * @param before the number of the timely rows that come next, or the own number of such rows
   */
  private record Place(long before, boolean isTimely, long number, boolean isMixed)
      implements Comparable<Place> {
    @Override
    public int compareTo(Place other) {
      return Comparator.comparingLong(Place::before)
          .thenComparing(Place::isTimely)
          .thenComparingLong(Place::number)
          .thenComparing(Place::isMixed)
          .compare(this, other);
    }
  }

  public static FileOrder of(Collection<DataFile> files) {
    return files.stream().noneMatch(file -> FileMark.isLate(file) || FileMark.isMixed(file))
        ? new FileOrder(Map.of())
        : ofMarked(files.stream().map(Ordered::of).toList());
  }

  static FileOrder ofMarked(List<Ordered> files) {
    Map<String, Place> places = new HashMap<>();
    List<Ordered> timely = files.stream().filter(file -> !file.mark().isLate()).toList();
    timely.forEach(
        file ->
            places.put(
                file.location(), new Place(file.number(), true, file.number(), file.isMixed())));
    long before = Long.MAX_VALUE; // late files keep their order among themselves
    for (Ordered late :
        files.stream()
            .filter(file -> file.mark().isLate())
            .sorted(Comparator.comparingLong(Ordered::number).reversed())
            .toList()) {
      before = Math.min(before, next(late, timely));
      places.put(late.location(), new Place(before, false, late.number(), false));
    }
    Map<Place, Long> numbers = new HashMap<>();
    new TreeSet<>(places.values()).forEach(place -> numbers.put(place, numbers.size() + 1L));
    Map<String, Long> ranks = new HashMap<>();
    places.forEach((location, place) -> ranks.put(location, numbers.get(place)));
    return new FileOrder(ranks);
  }

  private static long next(Ordered late, List<Ordered> timely) {
    return timely.stream()
        .filter(file -> file.comesAfter(late))
        .mapToLong(Ordered::number)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /** The place of a file; of two files, the one with the larger number comes later. */
  public long age(DataFile file) {
    return ranks.isEmpty() ? file.dataSequenceNumber() : age(file.location());
  }

  long age(String location) {
    return Objects.requireNonNull(ranks.get(location), "a file of the bucket");
  }

  /**
   * A file that is added to a branch would come before a late file there, whatever its new number:
   * its name says that its rows are older.
   *
   * @param there a late file
   */
  public static boolean wouldPrecede(DataFile added, DataFile there) {
    Ordered late = Ordered.of(there);
    Ordered file = Ordered.of(added);
    return !file.mark().isLate()
        && file.mark().since() != null
        && file.oldest() <= late.number()
        && file.mayTie(late);
  }

  /** Timely files can be merged without the late ones, and late files without the others. */
  public static boolean isApart(Collection<DataFile> files) {
    List<Ordered> all = files.stream().map(Ordered::of).toList();
    List<Ordered> timely = all.stream().filter(file -> !file.mark().isLate()).toList();
    return all.stream()
        .filter(file -> file.mark().isLate())
        .allMatch(late -> next(late, timely) == Long.MAX_VALUE);
  }
}
