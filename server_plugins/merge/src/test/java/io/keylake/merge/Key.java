package io.keylake.merge;

import java.util.Comparator;

/** A key of two long columns; where the second is 0 everywhere, it is as good as a key of one. */
public record Key(long first, long second) implements Comparable<Key> {
  private static final Comparator<Key> ORDER =
      Comparator.comparingLong(Key::first).thenComparingLong(Key::second);

  @Override
  public int compareTo(Key other) {
    return ORDER.compare(this, other);
  }
}
