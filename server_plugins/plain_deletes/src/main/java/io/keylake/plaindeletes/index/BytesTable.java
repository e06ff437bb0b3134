package io.keylake.plaindeletes.index;

import java.io.IOException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.stream.IntStream;

/**
 * Keys with tails: open addressing in places of entries, which lie one after the other as ordinal,
 * length and tail. A place has 32 bits of the head beside it, so that few other keys are looked at.
 */
final class BytesTable implements KeyTable {
  private static final int LENGTH_BYTES = Integer.BYTES;

  private final Ordinals ordinals;
  private final Allowance allowance;
  private final Part[] parts = new Part[PARTS];
  private long keys;

  BytesTable(Ordinals ordinals, Allowance allowance) {
    this.ordinals = ordinals;
    this.allowance = allowance;
    Arrays.setAll(parts, i -> new Part());
  }

  private final class Part {
    private long[] slots = {}; // tag and end of the entry; 0 is empty
    private byte[] entries = {};
    private int used;
    private int size;

    /** The slot of a key, or the empty one where it would be. */
    int slot(int tag, DeleteKey key) {
      int slot = KeyTable.slot(tag, slots.length);
      while (slots[slot] != 0 && !(tag(slot) == tag && isAt(start(slot), key))) {
        slot = slot + 1 == slots.length ? 0 : slot + 1;
      }
      return slot;
    }

    int tag(int slot) {
      return (int) (slots[slot] >>> 32);
    }

    /** The place where the entry begins; places are counted from 1. */
    int start(int slot) {
      return (int) slots[slot] - 1;
    }

    boolean isAt(int start, DeleteKey key) {
      int from = tail(start);
      int length = length(start);
      return length == key.tailLength()
          && Arrays.equals(entries, from, from + length, key.tail(), 0, length);
    }

    int length(int start) {
      return Bytes.getInt(entries, start + ordinals.width());
    }

    int tail(int start) {
      return start + ordinals.width() + LENGTH_BYTES;
    }

    int ordinal(int start) {
      return ordinals.get(entries, start);
    }

    long head(int start) {
      return DeleteKey.hash(entries, tail(start), length(start));
    }

    int[] starts() {
      int[] starts = new int[size];
      int start = 0;
      for (int i = 0; i < size; i++) {
        starts[i] = start;
        start = tail(start) + length(start);
      }
      return starts;
    }
  }

  private static long slotBytes(int capacity) {
    return capacity == 0 ? 0 : PART_BYTES / 2 + (long) capacity * Long.BYTES;
  }

  private static long entryBytes(int length) {
    return length == 0 ? 0 : PART_BYTES / 2 + length;
  }

  @Override
  public boolean put(DeleteKey key, int ordinal) {
    long head = key.head();
    Part part = parts[KeyTable.part(head)];
    int tag = KeyTable.tag(head);
    if (part.slots.length > 0) {
      int slot = part.slot(tag, key);
      if (part.slots[slot] != 0) {
        int start = part.start(slot);
        ordinals.set(part.entries, start, Math.max(part.ordinal(start), ordinal));
        return true;
      }
    }
    int needed = Math.addExact(part.used, ordinals.width() + LENGTH_BYTES + key.tailLength());
    if (KeyTable.isFull(part.size, part.slots.length)
        && !resizeSlots(part, KeyTable.grown(part.slots.length))) {
      return false;
    }
    if (needed > part.entries.length
        && !resizeEntries(part, Math.max(needed, KeyTable.grown(part.entries.length)))) {
      return false;
    }
    add(part, tag, key, ordinal);
    return true;
  }

  private void add(Part part, int tag, DeleteKey key, int ordinal) {
    int start = part.used;
    ordinals.set(part.entries, start, ordinal);
    Bytes.setInt(part.entries, start + ordinals.width(), key.tailLength());
    System.arraycopy(key.tail(), 0, part.entries, part.tail(start), key.tailLength());
    part.slots[part.slot(tag, key)] = (long) tag << 32 | start + 1;
    part.used = part.tail(start) + key.tailLength();
    part.size++;
    keys++;
  }

  private boolean resizeSlots(Part part, int capacity) {
    if (!allowance.use(slotBytes(capacity))) {
      return false;
    }
    long[] before = part.slots;
    long[] after = new long[capacity];
    for (long place : before) {
      if (place != 0) {
        int slot = KeyTable.slot((int) (place >>> 32), capacity);
        while (after[slot] != 0) {
          slot = slot + 1 == capacity ? 0 : slot + 1;
        }
        after[slot] = place;
      }
    }
    part.slots = after;
    allowance.free(slotBytes(before.length));
    return true;
  }

  private boolean resizeEntries(Part part, int length) {
    if (!allowance.use(entryBytes(length))) {
      return false;
    }
    int before = part.entries.length;
    part.entries = Arrays.copyOf(part.entries, length);
    allowance.free(entryBytes(before));
    return true;
  }

  @Override
  public int ordinal(DeleteKey key) {
    long head = key.head();
    Part part = parts[KeyTable.part(head)];
    if (part.slots.length == 0) {
      return 0;
    }
    int slot = part.slot(KeyTable.tag(head), key);
    return part.slots[slot] == 0 ? 0 : part.ordinal(part.start(slot));
  }

  @Override
  public long keys() {
    return keys;
  }

  @Override
  public void seal() {
    for (Part part : parts) {
      int capacity = KeyTable.sealed(part.size);
      boolean isRefused =
          capacity < part.slots.length && !resizeSlots(part, capacity)
              || part.used < part.entries.length && !resizeEntries(part, part.used);
      if (isRefused) {
        return; // what is larger than it has to be is right, too
      }
    }
  }

  @Override
  public void drain(RunWriter into) throws IOException {
    for (Part part : parts) {
      int[] starts = part.starts();
      long[] heads = Arrays.stream(starts).mapToLong(part::head).toArray();
      Comparator<Integer> byHead = (one, other) -> Long.compareUnsigned(heads[one], heads[other]);
      Comparator<Integer> byTail =
          (one, other) ->
              Arrays.compareUnsigned(
                  part.entries,
                  part.tail(starts[one]),
                  part.tail(starts[one]) + part.length(starts[one]),
                  part.entries,
                  part.tail(starts[other]),
                  part.tail(starts[other]) + part.length(starts[other]));
      for (int i :
          IntStream.range(0, starts.length)
              .boxed()
              .sorted(byHead.thenComparing(byTail))
              .mapToInt(Integer::intValue)
              .toArray()) {
        int start = starts[i];
        into.add(heads[i], part.ordinal(start), part.entries, part.tail(start), part.length(start));
      }
    }
    clear();
  }

  @Override
  public void clear() {
    for (int number = 0; number < PARTS; number++) {
      Part part = parts[number];
      allowance.free(slotBytes(part.slots.length) + entryBytes(part.entries.length));
      parts[number] = new Part();
    }
    keys = 0;
  }
}
