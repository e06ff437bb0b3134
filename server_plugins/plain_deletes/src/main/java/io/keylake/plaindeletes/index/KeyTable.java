package io.keylake.plaindeletes.index;

import java.io.IOException;

/**
 * Keys in memory, each with the highest ordinal that was put with it. It has 256 parts by the first
 * byte of the head, so that what one of them needs twice while it grows is little.
 */
interface KeyTable {
  int PARTS = 256;

  /** Objects have headers, and a part has two arrays. */
  long PART_BYTES = 80;

  /** Adds a key; returns false, with nothing changed, where there is no memory for it. */
  boolean put(DeleteKey key, int ordinal);

  /** The ordinal of a key, or 0. */
  int ordinal(DeleteKey key);

  long keys();

  /** Gives back the memory that is left over when no key will be put any more. */
  void seal();

  /** Writes all keys in their order, and forgets them. */
  void drain(RunWriter into) throws IOException;

  /** Forgets all keys. */
  void clear();

  static int part(long head) {
    return (int) (head >>> 56);
  }

  /** The bits of the head that order the keys of a part. */
  static int tag(long head) {
    return (int) (head >>> 24);
  }

  /** The slot at which a key is looked for first, in a table of some capacity. */
  static int slot(int tag, int capacity) {
    return (int) ((tag & 0xffffffffL) * capacity >>> 32);
  }

  /** The number of slots that a part gets when it is full with so many. */
  static int grown(int capacity) {
    return Math.max(8, capacity + (capacity < 4096 ? capacity / 2 : capacity / 4));
  }

  /** Another key would make the ways to keys long. */
  static boolean isFull(int keys, int capacity) {
    return (keys + 1L) * 20 > capacity * 17L;
  }

  /** The number of slots that keys need when no other will come. */
  static int sealed(int keys) {
    return keys == 0 ? 0 : keys + keys / 4 + 1;
  }
}
