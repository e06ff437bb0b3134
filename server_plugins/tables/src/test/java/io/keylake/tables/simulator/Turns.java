package io.keylake.tables.simulator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Lets one actor go on at a time, and keeps the time: that of the world, which moves where an actor
 * waits.
 */
final class Turns {
  private static final ExecutorService THREADS =
      Executors.newCachedThreadPool(
          run -> {
            Thread thread = new Thread(run, "simulator");
            thread.setDaemon(true);
            return thread;
          });
  private static final int MOST_CALLS = 100_000;
  private static final long LONGEST_SECONDS = 120;

  /** Ends all actors where a law was broken. */
  static final class Stopped extends Error {
    private static final long serialVersionUID = 1L;
  }

  private final List<Actor> actors = new ArrayList<>();
  private final Semaphore end = new Semaphore(0);
  private long millis;
  private int calls;
  private @Nullable Throwable failure;

  Turns(long millis) {
    this.millis = millis;
  }

  void add(Actor actor) {
    actors.add(actor);
  }

  List<Actor> actors() {
    return actors;
  }

  long millis() {
    return millis;
  }

  int calls() {
    return calls;
  }

  void pass(long more) {
    millis += more;
  }

  /** Runs all actors to their ends; throws what broke. */
  void run() throws Throwable {
    for (Actor actor : actors) {
      THREADS.execute(() -> live(actor));
    }
    actors.get(0).turn.release();
    if (!end.tryAcquire(LONGEST_SECONDS, TimeUnit.SECONDS)) {
      throw new AssertionError("a simulation waits for ever");
    }
    if (failure != null) {
      throw failure;
    }
  }

  private void live(Actor actor) {
    try {
      actor.turn.acquire();
      if (failure == null) {
        actor.live();
      }
    } catch (Stopped e) {
      // another one has failed
    } catch (Throwable e) {
      failure = failure == null ? e : failure;
    }
    actor.isDone = true;
    Actor next = next(actor);
    if (next == null) {
      end.release();
    } else {
      next.turn.release();
    }
  }

  /** Counts a call of an actor; every actor ends where one has failed. */
  void called() {
    if (failure != null) {
      throw new Stopped();
    }
    if (++calls > MOST_CALLS) {
      throw new AssertionError("the run does not end after %d calls".formatted(calls));
    }
  }

  /** Another actor goes on; nothing happens if it has ended or sleeps. */
  void handOver(Actor from, int to) {
    Actor next = to < actors.size() ? actors.get(to) : from;
    if (next != from && !next.isDone && next.wakesAt <= millis) {
      give(from, next);
    }
  }

  /** The actor goes on when so much time has passed. */
  void sleep(Actor actor, long time) {
    actor.wakesAt = millis + Math.max(1, time);
    Actor next = next(actor);
    if (next != null && next != actor) {
      give(actor, next);
    }
  }

  private void give(Actor from, Actor next) {
    next.turn.release();
    from.turn.acquireUninterruptibly();
    called();
  }

  /** The next one that is awake; time passes until there is one. */
  private @Nullable Actor next(Actor after) {
    Actor next = null;
    for (int i = 1; i <= actors.size(); i++) {
      Actor each = actors.get((after.number + i) % actors.size());
      if (!each.isDone
          && (next == null || Math.max(each.wakesAt, millis) < Math.max(next.wakesAt, millis))) {
        next = each;
      }
    }
    if (next != null) {
      millis = Math.max(millis, next.wakesAt);
    }
    return next;
  }
}
