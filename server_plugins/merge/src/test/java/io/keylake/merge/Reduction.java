package io.keylake.merge;

import io.keylake.merge.ColumnClass.Takes;
import java.util.Arrays;
import java.util.Collection;
import java.util.List;

/** How the values of a leaf are reduced, for whole numbers. */
public enum Reduction {
  LATEST,
  LATEST_NOT_NULL,
  SUM,
  MIN,
  MAX,
  COUNT,
  FIRST;

  /** By the name that specs have for it. */
  public static Reduction of(String type) {
    return Arrays.stream(values())
        .filter(each -> each.name().replace("_", "").equalsIgnoreCase(type))
        .findFirst()
        .orElseThrow();
  }

  public boolean accumulates() {
    return takes() != Takes.NEWEST;
  }

  boolean skipsNulls() {
    return this != LATEST;
  }

  Takes takes() {
    return switch (this) {
      case LATEST, LATEST_NOT_NULL -> Takes.NEWEST;
      case FIRST -> Takes.EARLIEST;
      default -> Takes.ALL;
    };
  }

  /** What is stored of a contribution. */
  private long stored(long contribution) {
    return this == COUNT ? 1 : contribution;
  }

  /** What is stored of contributions. */
  List<Long> folded(Collection<Long> contributions) {
    return combined(contributions.stream().map(this::stored).toList());
  }

  /** What is stored of what was stored before. */
  List<Long> combined(Collection<Long> stored) {
    return List.of(stored.stream().reduce(this::combined).orElseThrow());
  }

  private long combined(long a, long b) {
    return switch (this) {
      case MIN -> Math.min(a, b);
      case MAX -> Math.max(a, b);
      default -> a + b;
    };
  }
}
