package io.keylake.tables.commits;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Whole numbers from 0 on, as ranges: a set with few gaps is short, however many numbers it has.
 *
 * @param ranges ascending; between two of them at least one number is missing
 */
public record NumberSet(List<Range> ranges) {
  static final NumberSet EMPTY = new NumberSet(List.of());

  /** The numbers from one through another. */
  record Range(long first, long last) {
    @Override
    public String toString() {
      return first == last ? String.valueOf(first) : first + "-" + last;
    }
  }

  public NumberSet {
    ranges = List.copyOf(ranges);
  }

  static NumberSet of(long number) {
    return between(number, number);
  }

  public static NumberSet between(long first, long last) {
    return new NumberSet(List.of(new Range(first, last)));
  }

  /** Reads what {@link #toString} gives, such as {@code 1-120,125}. */
  static NumberSet parse(String text) {
    List<Range> ranges = new ArrayList<>();
    for (String part : text.split(",")) {
      if (!part.isEmpty()) {
        String[] ends = part.split("-");
        ranges.add(new Range(Long.parseLong(ends[0]), Long.parseLong(ends[ends.length - 1])));
      }
    }
    return ofRanges(ranges);
  }

  private static NumberSet ofRanges(List<Range> inAnyOrder) {
    List<Range> joined = new ArrayList<>();
    for (Range next : inAnyOrder.stream().sorted(Comparator.comparingLong(Range::first)).toList()) {
      Range last = joined.isEmpty() ? null : joined.get(joined.size() - 1);
      if (last != null && next.first() <= last.last() + 1) {
        joined.set(joined.size() - 1, new Range(last.first(), Math.max(last.last(), next.last())));
      } else {
        joined.add(next);
      }
    }
    return new NumberSet(joined);
  }

  NumberSet and(NumberSet other) {
    return ofRanges(Stream.concat(ranges.stream(), other.ranges.stream()).toList());
  }

  boolean contains(long number) {
    return containsAll(of(number));
  }

  boolean containsAll(NumberSet other) {
    return other.ranges.stream()
        .allMatch(
            part ->
                ranges.stream()
                    .anyMatch(own -> own.first() <= part.first() && part.last() <= own.last()));
  }

  boolean hasOneOf(NumberSet other) {
    return other.ranges.stream()
        .anyMatch(
            part ->
                ranges.stream()
                    .anyMatch(own -> own.first() <= part.last() && part.first() <= own.last()));
  }

  @Override
  public String toString() {
    return ranges.stream().map(Range::toString).collect(Collectors.joining(","));
  }
}
