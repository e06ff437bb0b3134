package io.keylake.plaindeletes.index;

import java.io.IOException;
import java.util.Arrays;

/** Keys that are their heads: open addressing in arrays of primitives. */
final class NumberTable implements KeyTable {
  private static final byte[] NO_TAIL = {};

  private final Ordinals ordinals;
  private final Allowance allowance;
  private final Part[] parts = new Part[PARTS];
  private long keys;

  NumberTable(Ordinals ordinals, Allowance allowance) {
    this.ordinals = ordinals;
    this.allowance = allowance;
    Arrays.setAll(parts, i -> new Part(0));
  }

  private final class Part {
    private final long[] heads;
    private final byte[] newest;
    private int size;

    Part(int capacity) {
      heads = new long[capacity];
      newest = new byte[capacity * ordinals.width()];
    }

    /** The slot of a head, or the empty one where it would be. */
    int slot(long head) {
      int slot = KeyTable.slot(KeyTable.tag(head), heads.length);
      while (at(slot) != 0 && heads[slot] != head) {
        slot = slot + 1 == heads.length ? 0 : slot + 1;
      }
      return slot;
    }

    int at(int slot) {
      return ordinals.get(newest, slot * ordinals.width());
    }

    void set(int slot, long head, int ordinal) {
      heads[slot] = head;
      ordinals.set(newest, slot * ordinals.width(), ordinal);
    }

    void addAll(Part other) {
      for (int slot = 0; slot < other.heads.length; slot++) {
        int ordinal = other.at(slot);
        if (ordinal != 0) {
          set(slot(other.heads[slot]), other.heads[slot], ordinal);
        }
      }
      size = other.size;
    }
  }

  private long bytes(int capacity) {
    return capacity == 0 ? 0 : PART_BYTES + (long) capacity * (Long.BYTES + ordinals.width());
  }

  @Override
  public boolean put(DeleteKey key, int ordinal) {
    long head = key.head();
    Part part = parts[KeyTable.part(head)];
    int capacity = part.heads.length;
    if (capacity > 0) {
      int slot = part.slot(head);
      int before = part.at(slot);
      if (before >= ordinal) {
        return true;
      }
      if (before > 0 || !KeyTable.isFull(part.size, capacity)) {
        part.set(slot, head, ordinal);
        count(part, before);
        return true;
      }
    }
    if (!resize(KeyTable.part(head), KeyTable.grown(capacity))) {
      return false;
    }
    Part larger = parts[KeyTable.part(head)];
    larger.set(larger.slot(head), head, ordinal);
    count(larger, 0);
    return true;
  }

  private void count(Part part, int before) {
    if (before == 0) {
      part.size++;
      keys++;
    }
  }

  private boolean resize(int number, int capacity) {
    if (!allowance.use(bytes(capacity))) {
      return false;
    }
    Part before = parts[number];
    Part after = new Part(capacity);
    after.addAll(before);
    parts[number] = after;
    allowance.free(bytes(before.heads.length));
    return true;
  }

  @Override
  public int ordinal(DeleteKey key) {
    long head = key.head();
    Part part = parts[KeyTable.part(head)];
    return part.heads.length == 0 ? 0 : part.at(part.slot(head));
  }

  @Override
  public long keys() {
    return keys;
  }

  @Override
  public void seal() {
    for (int number = 0; number < PARTS; number++) {
      int capacity = KeyTable.sealed(parts[number].size);
      if (capacity < parts[number].heads.length && !resize(number, capacity)) {
        return; // what is larger than it has to be is right, too
      }
    }
  }

  @Override
  public void drain(RunWriter into) throws IOException {
    for (Part part : parts) {
      long[] sorted = new long[part.size];
      int size = 0;
      for (int slot = 0; slot < part.heads.length; slot++) {
        if (part.at(slot) != 0) {
          sorted[size++] = part.heads[slot];
        }
      }
      Arrays.sort(sorted); // all begin with the same byte, so their sign does not matter
      for (long head : sorted) {
        into.add(head, part.at(part.slot(head)), NO_TAIL, 0, 0);
      }
    }
    clear();
  }

  @Override
  public void clear() {
    for (int number = 0; number < PARTS; number++) {
      allowance.free(bytes(parts[number].heads.length));
      parts[number] = new Part(0);
    }
    keys = 0;
  }
}
