package io.keylake.tables.simulator;

import java.util.function.BiConsumer;

/** What actors do. */
final class Operation {
  enum Kind {
    WRITE(Writing::write),
    OVERWRITE(Writing::overwrite),
    LATE(Writing::late),
    HELD(HeldRows::write),
    RELEASE(HeldRows::release),
    LATENESS(Upkeep::lateness),
    UNDO(Writing::undo),
    COMPACT(Upkeep::compact),
    SETTLE(Upkeep::settle),
    MANIFESTS(Upkeep::manifests),
    BUCKETS(Upkeep::buckets),
    COLUMN(Upkeep::column),
    CONSUME(Upkeep::consume),
    CLEAN(Upkeep::clean),
    READ(Upkeep::read),
    FEED(Upkeep::feed),
    CLOCK(Upkeep::clock),
    TIME(Upkeep::time),
    BRANCH(Branching::branch),
    DROP(Branching::drop),
    PUBLISH(Branching::publish),
    PICK(Branching::pick),
    ROLLBACK(Branching::rollback),
    ARCHIVE(Branching::archive),
    MERGED(Branching::merged);

    private final BiConsumer<Simulation, Client> run;

    Kind(BiConsumer<Simulation, Client> run) {
      this.run = run;
    }

    void run(Simulation simulation, Client client) {
      run.accept(simulation, client);
    }
  }

  private Operation() {}
}
