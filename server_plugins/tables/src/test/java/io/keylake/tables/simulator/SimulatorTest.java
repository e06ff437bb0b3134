package io.keylake.tables.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.DynamicTest.dynamicTest;

import io.keylake.merge.RandomRuns;
import io.keylake.tables.CaseFiles;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/**
 * The laws hold in simulated runs: in those of seeds, in those of cases, and in all orders of some.
 */
@Tag("random")
class SimulatorTest {
  private static final int TIMES = Integer.getInteger("keylake.runs", 1);

  /** `make test` has 1,000 of them, `make test-slow` 3 times 400, `make nightly` 80 times 1,250. */
  private static final int SEEDS = TIMES > 3 ? 1_250 : TIMES > 1 ? 400 : 1_000;

  @Test
  void seedsBreakNoLaw() {
    Set<Operation.Kind> done = EnumSet.noneOf(Operation.Kind.class);
    Set<Event.What> happened = EnumSet.noneOf(Event.What.class);
    RandomRuns.of(
        SEEDS,
        random -> {
          Script script = Script.of(random.nextLong());
          Simulation simulation = Simulation.of(script);
          try {
            simulation.run();
          } catch (Throwable e) {
            throw new AssertionError(
                "%s%nshortest script:%n%s"
                    .formatted(e.getMessage(), new Shrinking(script).shrunk()),
                e);
          }
          for (Operation.Kind kind : Operation.Kind.values()) {
            if (simulation.outcomes.containsKey(kind + " done")) {
              done.add(kind);
            }
          }
          happened.addAll(simulation.counts.keySet());
        });
    assertEquals(EnumSet.allOf(Operation.Kind.class), done, "each was done at least once");
    assertEquals(
        EnumSet.complementOf(EnumSet.of(Event.What.TO)), happened, "each happened at least once");
  }

  @Test
  void aSeedGivesOneRun() {
    RandomRuns.of(
        3,
        random -> {
          Script script = Script.of(random.nextLong());
          assertEquals(script, Script.parse(script.toString()));
          assertEquals(trace(script), trace(script), script.toString());
        });
  }

  private static String trace(Script script) {
    Simulation simulation = Simulation.of(script);
    try {
      simulation.run();
    } catch (Throwable e) {
      throw new AssertionError(e);
    }
    return "%d %s %s".formatted(simulation.turns.calls(), simulation.outcomes, simulation.counts);
  }

  /** The scripts that have found a fault, as they were shrunk. */
  @TestFactory
  Stream<DynamicTest> casesBreakNoLaw() {
    return CaseFiles.texts("simulator")
        .map(
            text ->
                dynamicTest(
                    text.lines().findFirst().orElseThrow(),
                    () -> Simulation.of(Script.parse(text)).run()));
  }

  /**
   * Two writers, a compactor and a cleaner, who hand over once in `make test`, twice in `make
   * test-slow` and three times in `make nightly`.
   */
  @Test
  void allOrdersOfFourBreakNoLaw() throws Throwable {
    Script script =
        Script.parse(
            """
            0 write 1
            0 write 2
            0 write 3
            0 write 4
            1 write 5
            3 compact 8
            4 clean 3
            """);
    int most = TIMES > 3 ? 3 : TIMES > 1 ? 2 : 1;
    new Interleavings(3, most).run(script);
  }
}
