package io.keylake.tables.simulator;

import io.keylake.tables.Machine;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.Lock;
import org.apache.iceberg.relocated.com.google.common.util.concurrent.MoreExecutors;
import org.jspecify.annotations.Nullable;

/**
 * A thread of a server, which does its operations one after another. It is also the machine that
 * the product runs on in it.
 */
final class Actor extends Machine {
  /** What ends an operation when its server crashes: no handler of exceptions sees it. */
  static final class Crash extends Error {
    private static final long serialVersionUID = 1L;
  }

  final int number;
  final Server server;
  final Semaphore turn = new Semaphore(0);
  final List<Integer> program = new ArrayList<>(); // places of its lines in the script

  /** The world's time until which it sleeps. */
  long wakesAt;

  /** The world's time when its operation began. */
  long begunAt;

  /** The place of its present line in the script. */
  int place;

  volatile boolean isDone;

  private final Simulation simulation;
  private final Map<Call, Integer> counts = new EnumMap<>(Call.class);
  private Script.@Nullable Line line;
  private int crashes;
  private int faults;
  private Random random = new Random(0);

  Actor(int number, Server server, Simulation simulation) {
    this.number = number;
    this.server = server;
    this.simulation = simulation;
  }

  /** Does all its operations. */
  void live() throws Exception {
    on(
        this,
        () -> {
          while (!program.isEmpty()) {
            int next = simulation.nextLine();
            if (!program.contains(next)) {
              simulation.turns.handOver(this, simulation.actorOf(next));
            }
            if (!program.isEmpty()) {
              place = program.remove(0);
              begin(simulation.script.lines().get(place));
              simulation.run(this, line);
              line = null;
            }
          }
          return null;
        });
  }

  private void begin(Script.Line next) {
    line = next;
    counts.clear();
    crashes = server.crashes;
    faults = server.faults;
    begunAt = simulation.turns.millis();
    random = new Random(next.seed() * 0x9E3779B97F4A7C15L);
  }

  boolean isBusy() {
    return line != null;
  }

  /**
   * A call has met a fault since the operation began: one of its own, or of another actor of the
   * server, which may have committed for it.
   */
  boolean hasMetFault() {
    return server.faults != faults;
  }

  Random random() {
    return random;
  }

  /**
   * Lets the events of a call happen, and gives the fault that the callee has to show; null for
   * none.
   */
  Event.@Nullable What call(Call call) {
    Script.Line now = line;
    if (now == null) {
      return null;
    }
    alive();
    int count = counts.merge(call, 1, Integer::sum);
    simulation.order.before(this, call);
    Event.What fault = null;
    for (Event event : now.events()) {
      if (event.call() == call && event.number() == count) {
        fault = happened(event, fault);
      }
    }
    alive();
    return fault;
  }

  private Event.@Nullable What happened(Event event, Event.@Nullable What before) {
    if (event.what() == Event.What.TO) {
      simulation.turns.handOver(this, event.actor());
      return before;
    }
    simulation.counts.merge(event.what(), 1, Integer::sum);
    server.faults++;
    if (event.what() == Event.What.CRASH) {
      server.crashes++;
    } else if (event.what() == Event.What.SLOW) {
      simulation.turns.sleep(this, 60_000);
    }
    return event.what();
  }

  /** Ends the operation if its server has crashed since it began. */
  void alive() {
    simulation.turns.called();
    if (line != null && server.crashes != crashes) {
      throw new Crash();
    }
  }

  @Override
  public String toString() {
    return "actor %d, '%s'".formatted(number, line);
  }

  @Override
  public Instant now() {
    return Instant.ofEpochMilli(simulation.turns.millis() + server.aheadMillis);
  }

  @Override
  public long nanos() {
    return simulation.turns.millis() * 1_000_000;
  }

  @Override
  public void sleep(long millis) {
    call(Call.SLEEP);
    simulation.turns.sleep(this, millis);
    alive();
  }

  @Override
  public void lock(Lock lock) {
    for (long millis = 1; !lock.tryLock(); millis *= 2) {
      sleep(millis);
    }
  }

  @Override
  public int random(int bound) {
    return random.nextInt(bound);
  }

  @Override
  public ExecutorService workers() {
    return MoreExecutors.newDirectExecutorService();
  }
}
