package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.io.Serializable;
import java.util.Collections;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The offsets of sources that the rows of a write are: of partitions of a topic, of files.
 *
 * @param bySource the name of a source, and its offsets
 */
public record OffsetRanges(SortedMap<String, Range> bySource) implements Serializable {
  public static final OffsetRanges NONE = new OffsetRanges(new TreeMap<>());

  /** The number of sources that a branch remembers. */
  public static final int MOST_SOURCES = 10_000;

  private static final int LONGEST_NAME = 1_000;

  public OffsetRanges {
    bySource = Collections.unmodifiableSortedMap(new TreeMap<>(bySource));
  }

  /** The offsets from one up to another, which is not of it. */
  public record Range(long from, long until) implements Serializable {
    public boolean isEmpty() {
      return from == until;
    }

    @Override
    public String toString() {
      return from + " to " + until;
    }
  }

  /**
   * Reads a JSON object from sources to ranges, such as {@code {"clicks-0": [0, 100]}}.
   *
   * @param what the name of the option or setting
   * @param json null for nothing
   */
  public static OffsetRanges parse(String what, @Nullable String json) {
    if (json == null) {
      return NONE;
    }
    JsonNode node = SpecJson.parse(what, json);
    if (!node.isObject() || node.isEmpty()) {
      throw refused(what, shortened(json), "a JSON object such as {\"clicks-0\": [0, 100]}");
    }
    if (node.size() > MOST_SOURCES) {
      throw refused(
          what,
          "an object of %d sources".formatted(node.size()),
          "one of at most %d".formatted(MOST_SOURCES));
    }
    SortedMap<String, Range> bySource = new TreeMap<>();
    node.properties()
        .forEach(each -> bySource.put(each.getKey(), range(what, each.getKey(), each.getValue())));
    return new OffsetRanges(bySource);
  }

  private static Range range(String what, String source, JsonNode ends) {
    if (source.isEmpty() || source.length() > LONGEST_NAME) {
      throw refused(
          what,
          "for a source of %d characters".formatted(source.length()),
          "for names of 1 to %d characters".formatted(LONGEST_NAME));
    }
    boolean isRange =
        ends.isArray()
            && ends.size() == 2
            && isOffset(ends.get(0))
            && isOffset(ends.get(1))
            && ends.get(0).longValue() <= ends.get(1).longValue();
    if (!isRange) {
      throw refused(
          what,
          "%s for source '%s'".formatted(shortened(ends.toString()), source),
          "the first offset and the one after the last, such as [0, 100]");
    }
    return new Range(ends.get(0).longValue(), ends.get(1).longValue());
  }

  private static boolean isOffset(JsonNode end) {
    return end.isIntegralNumber() && end.canConvertToLong() && end.longValue() >= 0;
  }

  private static String shortened(String text) {
    return text.length() <= 100 ? text : text.substring(0, 100) + "...";
  }

  private static KeylakeException refused(String what, String is, String mayBe) {
    return new KeylakeException(BAD_ROWS, "%s is %s; it must be %s".formatted(what, is, mayBe));
  }

  /** The write says nothing of offsets. */
  public boolean isNone() {
    return bySource.isEmpty();
  }

  /** Rows that are of no offsets would count again each time they are sent. */
  public void checkRows(long rows) {
    boolean isOfNothing = bySource.values().stream().allMatch(Range::isEmpty);
    if (!isNone() && isOfNothing && rows > 0) {
      throw new KeylakeException(
          BAD_ROWS,
          "all ranges in offsets are empty, that of source '%s' is %s, and the number of rows is %d; give the offsets of the rows, or leave offsets out"
              .formatted(bySource.firstKey(), bySource.get(bySource.firstKey()), rows));
    }
  }
}
