package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OffsetRanges.Range;
import java.util.SortedMap;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The position of a branch in a source.
 *
 * @param taken the offsets that it has
 * @param first the smallest that it has, or had before that was taken back
 */
record SourcePosition(NumberSet taken, long first) {
  private static NumberSet numbers(Range range) {
    return range.isEmpty() ? NumberSet.EMPTY : NumberSet.between(range.from(), range.until() - 1);
  }

  /** The offsets of sources, without those that have none. */
  static SortedMap<String, NumberSet> numbers(OffsetRanges ranges) {
    SortedMap<String, NumberSet> numbers = new TreeMap<>();
    ranges.bySource().forEach((source, range) -> numbers.put(source, numbers(range)));
    numbers.values().removeIf(NumberSet.EMPTY::equals);
    return numbers;
  }

  SourcePosition and(SourcePosition other) {
    return new SourcePosition(taken.and(other.taken), Math.min(first, other.first));
  }

  /** The first offset that is missing. */
  long next() {
    long next = first;
    for (NumberSet.Range range : taken.ranges()) {
      next = range.first() <= next && next <= range.last() ? range.last() + 1 : next;
    }
    return next;
  }

  /** The offset from which offsets are there again after the missing ones; null for nowhere. */
  @Nullable Long end() {
    long next = next();
    return taken.ranges().stream()
        .map(NumberSet.Range::first)
        .filter(from -> from > next)
        .findFirst()
        .orElse(null);
  }

  /** A range has offsets, and all of them are there. */
  boolean has(Range range) {
    return !range.isEmpty() && taken.containsAll(numbers(range));
  }

  /** A range begins with the first missing offset, or is an empty one that leaves no gap. */
  boolean takes(Range range) {
    if (range.isEmpty()) {
      return range.from() <= next() || taken.contains(range.from() - 1);
    }
    return range.from() == next() && !taken.hasOneOf(numbers(range));
  }

  /** The refusal of a range that it neither has nor takes. */
  KeylakeException misfit(String where, String source, Range range) {
    Long end = end();
    return new KeylakeException(
        BAD_ROWS,
        "source '%s' goes on at offset %d on %s, and the write has its offsets %s, %s; send it from offset %d%s"
            .formatted(
                source, next(), where, range, why(range), next(), end == null ? "" : " to " + end));
  }

  /** The refusal of a write whose range is there, beside one of another source that is not. */
  KeylakeException mixed(String where, String source, OffsetRanges given, String other) {
    return new KeylakeException(
        BAD_ROWS,
        "%s has offsets %s of source '%s' already, and the write has new ones of source '%s', too; send source '%s' from offset %d, or only the others"
            .formatted(where, given.bySource().get(source), source, other, source, next()));
  }

  private String why(Range range) {
    if (range.from() > next() && !taken.hasOneOf(numbers(range))) {
      return "so that %d to %d would be missing".formatted(next(), range.from());
    }
    return range.until() <= first
        ? "which lie before its first, %d".formatted(first)
        : "some of which are there already";
  }
}
