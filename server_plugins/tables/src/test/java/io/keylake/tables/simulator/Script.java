package io.keylake.tables.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Random;
import java.util.stream.Collectors;

/**
 * All that decides a run, as text: one line for each operation, with its actor, its kind, the seed
 * of what it draws, and the events at its calls.
 *
 * <pre>
 *   0 write 17 commit1:lost
 *   1 clean 4 list1:to0
 * </pre>
 *
 * <p>An actor does its operations in the order of the lines. It goes on until an event hands over,
 * or it sleeps or ends.
 */
record Script(List<Line> lines) {
  static final int ACTORS = 5;

  /** Those before it are of one server, and so commit together. */
  static final int ALONE = 3;

  private static final int LINES = 14;

  Script {
    lines = List.copyOf(lines);
  }

  /** One operation. */
  record Line(int actor, Operation.Kind kind, int seed, List<Event> events) {
    static Line parse(String text) {
      String[] words = text.strip().split(" +");
      return new Line(
          Integer.parseInt(words[0]),
          Operation.Kind.valueOf(words[1].toUpperCase(Locale.ROOT)),
          Integer.parseInt(words[2]),
          Arrays.stream(words).skip(3).map(Event::parse).toList());
    }

    @Override
    public String toString() {
      String head = "%d %s %d".formatted(actor, kind.name().toLowerCase(Locale.ROOT), seed);
      return events.isEmpty()
          ? head
          : head + " " + events.stream().map(Event::toString).collect(Collectors.joining(" "));
    }
  }

  static Script parse(String text) {
    return new Script(
        text.lines()
            .filter(line -> !line.isBlank() && !line.startsWith("#"))
            .map(Line::parse)
            .toList());
  }

  /**
   * The run of a seed. Each third one has no faults, and so fewer failures that are explained by
   * them. In each fourth one the actors of one server write at once.
   */
  static Script of(long seed) {
    Random random = new Random(seed * 0x9E3779B97F4A7C15L);
    boolean hasFaults = random.nextInt(3) > 0;
    boolean isCrowd = random.nextInt(4) == 0;
    List<Operation.Kind> kinds = kinds(random);
    List<Line> lines = new ArrayList<>();
    lines.add(new Line(0, Operation.Kind.WRITE, random.nextInt(1000), List.of()));
    for (int i = 6 + random.nextInt(LINES); i > 0; i--) {
      List<Event> events = new ArrayList<>();
      if (isCrowd && random.nextBoolean()) {
        events.add(new Event(Call.COMMIT, 1, Event.What.TO, random.nextInt(ALONE)));
      }
      for (int of = random.nextInt(5); of > 0; of--) {
        events.add(event(random, hasFaults));
      }
      boolean isWrite = random.nextInt(isCrowd ? 4 : 3) == 0 ^ isCrowd;
      lines.add(
          new Line(
              random.nextInt(isCrowd && isWrite ? ALONE : ACTORS),
              isWrite ? Operation.Kind.WRITE : kinds.get(random.nextInt(kinds.size())),
              random.nextInt(1000),
              events));
    }
    return new Script(lines);
  }

  /**
   * Some of the kinds: a run with few of them does each more often. Some kinds are about what
   * others do, so that both are in one run.
   */
  private static List<Operation.Kind> kinds(Random random) {
    List<Operation.Kind> all = List.of(Operation.Kind.values());
    List<Operation.Kind> kinds = new ArrayList<>();
    for (int i = 1 + random.nextInt(5); i > 0; i--) {
      kinds.add(all.get(random.nextInt(all.size())));
    }
    switch (random.nextInt(6)) {
      case 0 -> kinds.addAll(List.of(Operation.Kind.LATENESS, Operation.Kind.COMPACT));
      case 1 -> kinds.addAll(List.of(Operation.Kind.HELD, Operation.Kind.RELEASE));
      default -> {} // any
    }
    return kinds;
  }

  private static Event event(Random random, boolean hasFaults) {
    Call call =
        List.of(
                Call.REFRESH,
                Call.COMMIT,
                Call.COMMIT,
                Call.COMMIT,
                Call.READ,
                Call.WRITE,
                Call.DELETE,
                Call.LIST)
            .get(random.nextInt(8));
    int number =
        1 + random.nextInt(random.nextInt(call == Call.READ || call == Call.DELETE ? 20 : 4) + 1);
    boolean isFault = hasFaults && random.nextInt(3) == 0;
    List<Event.What> faults = Event.of(call);
    return isFault
        ? new Event(call, number, faults.get(random.nextInt(faults.size())), 0)
        : new Event(call, number, Event.What.TO, random.nextInt(ACTORS));
  }

  @Override
  public String toString() {
    return lines.stream().map(Line::toString).collect(Collectors.joining("\n", "", "\n"));
  }
}
