package io.keylake.tables.simulator;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.Settled;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.PlannedRead.Answer;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.storage.Housekeeping;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Supplier;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.ValidationException;
import org.jspecify.annotations.Nullable;

/** One run: what a script says, with the laws checked after each commit and at each answer. */
final class Simulation {
  private static final Instant BEGIN = Instant.parse("2020-01-01T00:00:00Z");

  /** A time that no run reaches, and every real clock is beyond. */
  static final Instant END = Instant.parse("2023-01-01T00:00:00Z");

  private static final String PLACE = "sim://lake/orders";
  private static final RetentionPolicy TIGHTEST = new RetentionPolicy(0.0, 1, null, 3, 0.0, 0, 30);

  /** Archived states may go. */
  static final Intent CLEANING = new Intent(null, null, Set.of("history_*"), true, Set.of());

  final Script script;
  final Order order;
  final Turns turns = new Turns(BEGIN.toEpochMilli());
  final Map<Event.What, Integer> counts = new EnumMap<>(Event.What.class);

  /** How often an operation was done, by kind and outcome. */
  final Map<String, Integer> outcomes = new TreeMap<>();

  /** Snapshots of branches whose tombstones were dropped. */
  final Set<Long> merged = new HashSet<>();

  final Model model;
  final Laws laws;
  private final SimulatedStore store;
  private final SimulatedCatalog catalog;
  private final MemoryTable memory;
  private final Client truth;
  private final Map<Actor, Client> clients = new HashMap<>();
  private final Map<Actor, Intent> intents = new HashMap<>();
  private final Map<Actor, Integer> taken = new HashMap<>();
  private final List<String> unchecked = new ArrayList<>(); // branches
  private final int[] actors;

  Simulation(Script script, Order order) {
    this.script = script;
    this.order = order;
    this.actors = script.lines().stream().mapToInt(Script.Line::actor).toArray();
    store = new SimulatedStore(turns, this::deleted);
    catalog = new SimulatedCatalog(store, turns, this::taken, this::checkReads);
    laws = new Laws(store);
    model = new Model(laws);
    TableDefinition definition = MemoryTable.orderedDefinition();
    Schema schema = definition.icebergSchema();
    Map<String, String> properties =
        Map.of("commit.retry.min-wait-ms", "0", "commit.retry.max-wait-ms", "0");
    catalog.create(
        TableMetadata.newTableMetadata(
            schema,
            definition.partitionSpec(schema),
            definition.sortOrder(schema),
            PLACE,
            definition.properties(properties)));
    BaseTable table = catalog.openedBy(null);
    memory = MemoryTable.of(table);
    truth = new Client(table, memory, new Random(0));
    for (int number = 0; number < Script.ACTORS; number++) {
      boolean isFirst = number == 0 || number >= Script.ALONE;
      Server server = isFirst ? new Server(number) : turns.actors().get(0).server;
      turns.add(new Actor(number, server, this));
    }
    for (int line = 0; line < actors.length; line++) {
      turns.actors().get(actors[line]).program.add(line);
    }
  }

  static Simulation of(Script script) {
    return new Simulation(script, Order.OF_EVENTS);
  }

  /** Runs it to its end; throws an {@link AssertionError} where a law is broken. */
  Simulation run() throws Throwable {
    turns.run();
    catalog.settle();
    checkEnd();
    return this;
  }

  /** The first line that nobody has begun. */
  int nextLine() {
    int first = Integer.MAX_VALUE;
    for (Actor actor : turns.actors()) {
      if (!actor.program.isEmpty()) {
        first = Math.min(first, actor.program.get(0));
      }
    }
    return first;
  }

  int actorOf(int line) {
    return actors[line];
  }

  /** Does one line of an actor. */
  void run(Actor actor, Script.Line line) {
    String outcome;
    try {
      Client known = clients.get(actor);
      BaseTable table = known == null ? catalog.openedBy(actor) : (BaseTable) known.table;
      Client client = new Client(table, memory, actor.random());
      clients.put(actor, client);
      if (known == null || actor.random().nextBoolean()) {
        table.refresh();
      }
      line.kind().run(this, client);
      outcome = "done";
    } catch (Actor.Crash e) {
      clients.remove(actor);
      outcome = "crashed";
    } catch (KeylakeException e) {
      outcome = "refused";
    } catch (NotFoundException | CommitFailedException | ValidationException e) {
      outcome = "stale";
    } catch (RuntimeException e) {
      if (!actor.hasMetFault()) {
        throw new AssertionError("'%s' fails with %s".formatted(line, e), e);
      }
      outcome = "failed";
    }
    outcomes.merge(line.kind() + " " + outcome, 1, Integer::sum);
  }

  /** Does what an actor wants to be one change: all of it, or nothing if it is refused. */
  <T> T change(Intent intent, Supplier<T> change) {
    return intended(intent, true, change);
  }

  /** Does what takes several commits. */
  <T> T changes(Intent intent, Supplier<T> change) {
    return intended(intent, false, change);
  }

  private <T> T intended(Intent intent, boolean isOne, Supplier<T> change) {
    Actor actor = (Actor) Machine.here();
    Write write = intent.write();
    if (write != null) {
      model.announce(write);
    }
    if (intent.held() != null) {
      model.announce(intent.held());
    }
    intents.put(actor, intent);
    int before = taken.getOrDefault(actor, 0);
    try {
      return change.get();
    } catch (RuntimeException e) {
      boolean isChanged =
          write == null ? taken.getOrDefault(actor, 0) > before : !write.snapshots.isEmpty();
      if (isOne && isChanged && !isUnknown(e)) {
        throw new AssertionError("it was refused, and made nevertheless: " + e, e);
      }
      throw e;
    }
  }

  private static boolean isUnknown(Throwable e) {
    return (e instanceof KeylakeException said
            && said.kind() == KeylakeException.Kind.OUTCOME_UNKNOWN)
        || e instanceof CommitStateUnknownException
        || (e.getCause() != null && isUnknown(e.getCause()));
  }

  Actor actor() {
    return (Actor) Machine.here();
  }

  /**
   * Takes the commits that are on their way, and lets time pass; nothing under way gets too old.
   */
  void pass(Duration most) {
    catalog.settle();
    long oldest =
        turns.actors().stream()
            .filter(Actor::isBusy)
            .mapToLong(each -> each.begunAt)
            .min()
            .orElse(turns.millis());
    long left = Duration.ofDays(2).toMillis() - (turns.millis() - oldest);
    turns.pass(Math.max(0, Math.min(most.toMillis(), left)));
  }

  /** The table has a snapshot now. */
  boolean isThere(long snapshotId) {
    return catalog.now().snapshot(snapshotId) != null;
  }

  /** The writes of a snapshot that the product has named. */
  List<Write> state(long snapshotId) {
    List<Write> state = model.state(snapshotId);
    if (state == null) {
      throw Model.broken("there never was a snapshot %d".formatted(snapshotId));
    }
    return state;
  }

  private void deleted(String path) {
    if (truth != null) {
      laws.checkDeleted(path, catalog.now());
    }
  }

  private void taken(@Nullable Actor by, @Nullable TableMetadata before, TableMetadata after) {
    if (before == null) {
      return;
    }
    laws.checkFiles(after);
    Intent intent = CLEANING;
    if (by != null) {
      taken.merge(by, 1, Integer::sum);
      intent = intents.getOrDefault(by, Intent.NOTHING);
    }
    Set<String> changed;
    try {
      changed = model.taken(intent, before, after);
    } catch (AssertionError e) {
      throw new AssertionError("%s, with a commit of %s".formatted(e.getMessage(), by), e);
    }
    unchecked.addAll(changed);
    changed.stream()
        .filter(branch -> branch.startsWith("merged"))
        .forEach(branch -> merged.add(after.ref(branch).snapshotId()));
  }

  /** Reads what has changed, as it is now. */
  private void checkReads() {
    if (unchecked.isEmpty()) {
      return;
    }
    truth.table.refresh();
    for (String branch : List.copyOf(unchecked)) {
      unchecked.remove(branch);
      check(branch);
    }
  }

  private void check(String branch) {
    Long head = model.heads().get(branch);
    if (head != null) {
      boolean isMerged = branch.startsWith("merged");
      Wanted wanted = isMerged ? Wanted.ROWS : Wanted.HISTORY;
      List<Write> state = model.state(head);
      compare("branch " + branch, truth, head, wanted, state);
    }
  }

  static void compare(String what, Client client, long at, Wanted wanted, List<Write> state) {
    compare(what, state, client.expected(state, wanted), client.read(at, wanted));
    if (!Settled.of(client.table.snapshot(at)).equals(Settled.NOTHING)) {
      List<Answer> expected = client.expected(state, Wanted.ROWS);
      compare(what + ", settled,", state, expected, client.readUnordered(at));
    }
  }

  static void compare(String what, List<Write> of, List<Answer> expected, List<Answer> read) {
    if (!expected.equals(read)) {
      throw Model.broken("%s has %s, which is %s; read is %s".formatted(what, of, expected, read));
    }
  }

  private void checkEnd() {
    checkReads();
    truth.table.refresh();
    turns.pass(Duration.ofDays(10).toMillis());
    Housekeeping.run(truth.table, TIGHTEST, Instant.ofEpochMilli(turns.millis()));
    truth.table.refresh();
    for (String branch : List.copyOf(model.heads().keySet())) {
      check(branch);
    }
    laws.checkFiles(catalog.now());
    laws.checkNothingIsLeft(catalog.now());
  }
}
