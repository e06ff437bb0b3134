package io.keylake.tables.simulator;

import java.util.List;
import java.util.Locale;

/**
 * Something that happens at one call of an operation, written as {@code commit1:lost}.
 *
 * @param number of the call among those of its kind in the operation, from 1
 * @param actor that goes on, for {@link What#TO}
 */
record Event(Call call, int number, What what, int actor) {
  enum What {
    /** Another actor goes on before the call is made. */
    TO,
    /** The call is not made, and fails. */
    FAIL,
    /** The call is made, and fails nevertheless. */
    LOST,
    /** A commit is taken, and said to be in conflict; that is, with itself. */
    CONFLICT,
    /** A commit is taken later, and fails now. */
    LATE,
    /** A commit is refused as busy, which may be so before or after it is taken: before. */
    BUSY,
    /** Half of a file is written, and the call fails. */
    TORN,
    /** The catalog says what was true before. */
    STALE,
    /** The process ends; files that are not closed are lost. */
    CRASH,
    /** The call takes a minute. */
    SLOW
  }

  /** The events that a kind of call can have, beside that another actor goes on. */
  static List<What> of(Call call) {
    return switch (call) {
      case REFRESH -> List.of(What.FAIL, What.STALE, What.STALE, What.CRASH, What.SLOW);
      case COMMIT ->
          List.of(
              What.FAIL,
              What.LOST,
              What.LOST,
              What.CONFLICT,
              What.LATE,
              What.BUSY,
              What.CRASH,
              What.SLOW);
      case READ, LIST -> List.of(What.FAIL, What.CRASH, What.SLOW);
      case WRITE -> List.of(What.FAIL, What.LOST, What.TORN, What.CRASH, What.SLOW);
      case DELETE -> List.of(What.FAIL, What.LOST, What.CRASH);
      case SLEEP -> List.of(What.CRASH);
    };
  }

  static Event parse(String text) {
    String[] parts = text.split(":");
    String call = parts[0].replaceAll("\\d+$", "");
    int number = Integer.parseInt(parts[0].substring(call.length()));
    Call of = Call.valueOf(call.toUpperCase(Locale.ROOT));
    return parts[1].matches("to\\d+")
        ? new Event(of, number, What.TO, Integer.parseInt(parts[1].substring(2)))
        : new Event(of, number, What.valueOf(parts[1].toUpperCase(Locale.ROOT)), 0);
  }

  @Override
  public String toString() {
    String does = what == What.TO ? "to" + actor : what.name().toLowerCase(Locale.ROOT);
    return call.word() + number + ":" + does;
  }
}
