package io.keylake.tables.lateness;

import java.util.Collection;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.DataFile;
import org.jspecify.annotations.Nullable;

/**
 * The part of a file's name that tells late rows from timely ones. It says what no later commit can
 * change, so that no fact about a file hangs on a snapshot:
 *
 * <pre>
 *   late_1767225600000000-       every version lies below the limit
 *   timely_1767225600000000-     none does
 *   timely_1767225600000000_12-  the same of merged rows, of which the oldest are of commit 12
 *   (nothing)                    nothing is known of the versions
 * </pre>
 *
 * @param limit a version; null where none is known of timely rows
 * @param since the number of the oldest commit of the rows; null where it is that of the file
 */
public record FileMark(boolean isLate, @Nullable Long limit, @Nullable Long since) {
  private static final FileMark NONE = new FileMark(false, null, null);
  private static final String LATE = "late";
  private static final String TIMELY = "timely";
  private static final String UNKNOWN = "x";
  private static final Pattern IN_NAME =
      Pattern.compile("-(late|timely)_(m?\\d{1,19}|x)(?:_(\\d{1,19}))?-");

  public static FileMark of(DataFile file) {
    return of(file.location());
  }

  static FileMark of(String location) {
    String name = location.substring(location.lastIndexOf('/') + 1);
    Matcher found = IN_NAME.matcher(name);
    if (!found.find()) {
      return NONE;
    }
    String limit = Objects.requireNonNull(found.group(2), "of the pattern");
    String since = found.group(3);
    return new FileMark(
        LATE.equals(found.group(1)),
        limit.equals(UNKNOWN) ? null : Long.valueOf(limit.replace('m', '-')),
        since == null ? null : Long.valueOf(since));
  }

  public static boolean isLate(DataFile file) {
    return isLate(file.location());
  }

  public static boolean isLate(String location) {
    int name = location.lastIndexOf('/');
    return location.indexOf("-" + LATE + "_", name) >= 0 // of most not, which is seen at once
        && of(location).isLate();
  }

  /**
   * The mark of files with rows that were late and are a run like others now. They count as the
   * newest file of their bucket was, and are settled no earlier than they were added.
   */
  public static final String MIXED = "mixed-";

  /** The file has rows that were late, and came into it after the commit that it counts as. */
  public static boolean isMixed(DataFile file) {
    return isMixed(file.location());
  }

  static boolean isMixed(String location) {
    return location.indexOf("-" + MIXED, location.lastIndexOf('/')) >= 0;
  }

  /** The mark of rows of one write whose versions lie below a limit. */
  public static FileMark late(long limit) {
    return new FileMark(true, limit, null);
  }

  /** The mark of the other rows of that write. */
  public static FileMark timely(long limit) {
    return new FileMark(false, limit, null);
  }

  /** The mark of the merged rows of files that are all late, or all timely. */
  public static FileMark merged(Collection<DataFile> files) {
    boolean isLate = files.stream().allMatch(FileMark::isLate);
    assert isLate || files.stream().noneMatch(FileMark::isLate) : files;
    Long limit = of(files.iterator().next()).limit();
    long since = Long.MAX_VALUE;
    for (DataFile file : files) {
      FileMark mark = of(file);
      Long own = mark.limit();
      limit =
          limit == null || own == null
              ? null
              : Long.valueOf(isLate ? Math.max(limit, own) : Math.min(limit, own));
      since = Math.min(since, mark.oldest(file));
    }
    return new FileMark(isLate, limit, since);
  }

  /** The number of the oldest commit of the rows of a file. */
  public long oldest(DataFile file) {
    return since == null ? file.dataSequenceNumber() : since;
  }

  /** The text that names of files begin with, behind the numbers of their task. */
  public String text() {
    String shown = limit == null ? UNKNOWN : limit.toString().replace('-', 'm');
    return (isLate ? LATE : TIMELY) + "_" + shown + (since == null ? "" : "_" + since) + "-";
  }
}
