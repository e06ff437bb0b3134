package io.keylake.tables.commits;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * The undos that have taken the writes of a commit back, and those that have taken such undos back.
 * One undo may take back a write and earlier undos of it, and a write may be taken back twice.
 *
 * @param by in the order in which they were made
 */
record TakenBack(List<By> by) {
  static final TakenBack NEVER = new TakenBack(List.of());

  /** The number that stands for the writes themselves. */
  private static final long WRITES = 0;

  /**
   * One undo.
   *
   * @param of the numbers of earlier undos, and {@code WRITES}, of what it takes back
   */
  record By(long number, List<Long> of) {
    By {
      of = List.copyOf(of);
    }
  }

  TakenBack {
    by = List.copyOf(by);
  }

  /**
   * The writes are taken back on a branch: by an undo that has not been taken back there itself.
   */
  boolean isOn(Ledger ledger) {
    Set<Long> taken = new HashSet<>();
    for (int i = by.size() - 1; i >= 0; i--) {
      By undo = by.get(i);
      if (ledger.has(undo.number()) && !taken.contains(undo.number())) {
        taken.addAll(undo.of());
      }
    }
    return taken.contains(WRITES);
  }

  /**
   * The same after an undo.
   *
   * @param sequenceNumber of the commit whose writes these are
   */
  TakenBack after(Ledger.Undo undo, long sequenceNumber) {
    List<Long> of = new ArrayList<>();
    if (undo.of().contains(sequenceNumber)) {
      of.add(WRITES);
    }
    by.stream().map(By::number).filter(undo.of()::contains).forEach(of::add);
    return of.isEmpty() ? this : and(new By(undo.number(), of));
  }

  private TakenBack and(By undo) {
    List<By> all = new ArrayList<>(by);
    all.add(undo);
    return new TakenBack(all);
  }

  // ----------------------------------------------------------------------------- as it is stored

  /**
   * Undos as JSON: a number for one that takes the writes back, or the undo before it that has
   * brought them back; with a minus for one that brings them back, as it takes that before it back;
   * for any other one a list of its number and what it takes back.
   */
  static TakenBack parse(JsonNode values) {
    TakenBack all = NEVER;
    long before = WRITES; // with its sign
    for (JsonNode each : values) {
      if (each.isArray()) {
        List<Long> of = new ArrayList<>();
        each.forEach(number -> of.add(number.longValue()));
        all = all.and(new By(of.get(0), of.subList(1, of.size())));
        before = of.get(0);
      } else {
        long number = each.longValue();
        boolean isFirst = number > 0 && before >= 0;
        all = all.and(new By(Math.abs(number), List.of(isFirst ? WRITES : Math.abs(before))));
        before = number;
      }
    }
    return all;
  }

  List<Object> values() {
    List<Object> values = new ArrayList<>();
    long before = WRITES;
    for (By each : by) {
      boolean isOfLast = before != WRITES && each.of().equals(List.of(Math.abs(before)));
      if (isOfLast || (each.of().equals(List.of(WRITES)) && before >= 0)) {
        before = isOfLast && before > 0 ? -each.number() : each.number();
        values.add(before);
      } else {
        List<Long> list = new ArrayList<>(each.of());
        list.add(0, each.number());
        before = each.number();
        values.add(list);
      }
    }
    return values;
  }
}
