package io.keylake.tables.simulator;

import io.keylake.tables.simulator.Script.Line;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Makes a script that breaks a law shorter: lines go, then events, as long as a law is broken. */
final class Shrinking {
  private static final int MOST_RUNS = 2_000;

  private final Script script;
  private final String law;
  private int runs;

  /**
   * @param script breaks a law
   */
  Shrinking(Script script) {
    this.script = script;
    this.law = law(broken(script));
  }

  /** What is said of a failure, without what differs from run to run. */
  private static String law(@Nullable Throwable failure) {
    String said = String.valueOf(failure).replaceAll("'.*?'|[0-9a-f-]{5,}|[0-9]", "");
    return said.substring(0, Math.min(60, said.length()));
  }

  /** The law that a script breaks; null where it breaks none. */
  static @Nullable Throwable broken(Script script) {
    try {
      Simulation.of(script).run();
      return null;
    } catch (Throwable e) {
      return e;
    }
  }

  /** The shortest script that was found to break the same law. */
  Script shrunk() {
    Script shortest = script;
    boolean isShorter = true;
    while (isShorter) {
      Script before = shortest;
      for (int length = shortest.lines().size() / 2; length > 0; length /= 2) {
        shortest = withoutLines(shortest, length);
      }
      shortest = withoutEvents(shortest);
      isShorter = !shortest.equals(before) && runs < MOST_RUNS;
    }
    return shortest;
  }

  private Script withoutLines(Script script, int length) {
    Script shortest = script;
    for (int at = 0; at + length <= shortest.lines().size(); ) {
      List<Line> lines = new ArrayList<>(shortest.lines());
      lines.subList(at, at + length).clear();
      Script shorter = new Script(lines);
      if (!lines.isEmpty() && breaks(shorter)) {
        shortest = shorter;
      } else {
        at++;
      }
    }
    return shortest;
  }

  private Script withoutEvents(Script script) {
    Script shortest = script;
    for (int at = 0; at < shortest.lines().size(); at++) {
      for (int number = 0; number < shortest.lines().get(at).events().size(); ) {
        Line line = shortest.lines().get(at);
        List<Event> events = new ArrayList<>(line.events());
        events.remove(number);
        List<Line> lines = new ArrayList<>(shortest.lines());
        lines.set(at, new Line(line.actor(), line.kind(), line.seed(), events));
        Script shorter = new Script(lines);
        if (breaks(shorter)) {
          shortest = shorter;
        } else {
          number++;
        }
      }
    }
    return shortest;
  }

  private boolean breaks(Script script) {
    return runs++ < MOST_RUNS && law(broken(script)).equals(law);
  }
}
