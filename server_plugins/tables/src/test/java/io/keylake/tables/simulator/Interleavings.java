package io.keylake.tables.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * All orders of the last lines of a script in which actors hand over so many times at most, at the
 * calls that others can notice: those of the catalog, deletions and listings. What else an actor
 * does is seen by nobody until one of these.
 */
final class Interleavings implements Order {
  private static final Set<Call> NOTICED =
      Set.of(Call.REFRESH, Call.COMMIT, Call.DELETE, Call.LIST);

  private final int setup;
  private final int most;
  private final List<Integer> choices = new ArrayList<>();
  private final List<Integer> options = new ArrayList<>();
  private Turns turns = new Turns(0);
  private int at;
  private int handedOver;

  /**
   * @param setup lines before the interleaved ones, in their order
   * @param most times that actors hand over
   */
  Interleavings(int setup, int most) {
    this.setup = setup;
    this.most = most;
  }

  /** Runs the script in each order, and gives how many there were. */
  int run(Script script) throws Throwable {
    int runs = 0;
    do {
      at = 0;
      handedOver = 0;
      options.clear();
      Simulation simulation = new Simulation(script, this);
      turns = simulation.turns;
      try {
        simulation.run();
      } catch (Throwable e) {
        throw new AssertionError(
            "order %s of%n%s: %s".formatted(choices, script, e.getMessage()), e);
      }
      runs++;
    } while (next());
    return runs;
  }

  /** The next order: the last choice that can be another one is, and all after it are the first. */
  private boolean next() {
    int last = options.size() - 1;
    while (last >= 0 && chosen(last) + 1 >= options.get(last)) {
      last--;
    }
    if (last < 0) {
      return false;
    }
    int choice = chosen(last) + 1;
    while (choices.size() > last) {
      choices.remove(choices.size() - 1);
    }
    while (choices.size() < last) {
      choices.add(0);
    }
    choices.add(choice);
    return true;
  }

  private int chosen(int place) {
    return place < choices.size() ? choices.get(place) : 0;
  }

  @Override
  public void before(Actor actor, Call call) {
    if (actor.place < setup || !NOTICED.contains(call) || handedOver == most) {
      return;
    }
    List<Actor> others = new ArrayList<>();
    for (Actor each : turns.actors()) {
      if (each != actor && !each.isDone && each.wakesAt <= turns.millis()) {
        others.add(each);
      }
    }
    int choice = chosen(at);
    at++;
    options.add(others.size() + 1);
    if (choice > 0) {
      handedOver++;
      turns.handOver(actor, others.get(choice - 1).number);
    }
  }
}
