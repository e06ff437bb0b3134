package io.keylake.spark.extension;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.procedures.LocalProcedure;
import io.keylake.tables.KeylakeException;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.StructType;
import org.junit.jupiter.api.Test;

final class GuestsTest {
  private static final String VERSION = EngineVersions.keylake();
  private static final CatalogTables NO_TABLES =
      new CatalogTables() {
        @Override
        public Table load(String name) {
          throw new IllegalArgumentException(name);
        }

        @Override
        public void hasChanged(String name) {
          throw new IllegalArgumentException(name);
        }

        @Override
        public Expression condition(String name, String where) {
          return Expressions.alwaysTrue();
        }
      };

  private record Guest(String name, List<String> procedureNames, List<String> properties)
      implements KeylakeExtension {
    @Override
    public List<UnboundProcedure> procedures(CatalogTables tables) {
      return procedureNames.stream().map(GuestsTest::procedure).toList();
    }

    @Override
    public List<MaintenanceTask> tasks() {
      return properties.stream().<MaintenanceTask>map(Task::new).toList();
    }
  }

  private record Task(String property) implements MaintenanceTask {
    @Override
    public void check(String value) {
      if (!value.equals("{}")) {
        throw new KeylakeException(KeylakeException.Kind.DEFINITION, "not a policy: " + value);
      }
    }

    @Override
    public Optional<Done> run(SparkContext spark, String name, Table table, int atOnce) {
      return Optional.empty();
    }
  }

  private static UnboundProcedure procedure(String name) {
    return new LocalProcedure(name, List.of(), new StructType(), arguments -> List.of());
  }

  private static Guest guest(String name, String... procedures) {
    return new Guest(name, List.of(procedures), List.of());
  }

  private static String refusal(Runnable call) {
    return assertThrows(KeylakeException.class, call::run).sentence();
  }

  @Test
  void guestsAreOrderedByTheirNames() {
    Guests guests = new Guests(List.of(guest("b"), guest("a")));
    assertEquals(
        List.of("a", "b"), guests.extensions().stream().map(KeylakeExtension::name).toList());
  }

  @Test
  void proceduresOfGuestsJoinThoseOfTheCore() {
    Guests guests = new Guests(List.of(guest("a", "call_a"), guest("b", "call_b")));
    assertEquals(
        Set.of("compact", "call_a", "call_b"),
        guests.procedures(List.of(procedure("compact")), NO_TABLES).keySet());
  }

  @Test
  void aGuestTakesNoNameOfTheCoreOrOfAnotherGuest() {
    Guests one = new Guests(List.of(guest("a", "compact")));
    assertEquals(
        "both keylake and a have the procedure 'compact'; start the server without the jar of one of them",
        refusal(() -> one.procedures(List.of(procedure("compact")), NO_TABLES)));
    Guests two = new Guests(List.of(guest("a", "more"), guest("b", "more")));
    assertTrue(
        refusal(() -> two.procedures(List.of(), NO_TABLES))
            .startsWith("both a and b have the procedure 'more'"));
    List<String> property = List.of("keylake.more");
    Guests tasks =
        new Guests(
            List.of(new Guest("a", List.of(), property), new Guest("b", List.of(), property)));
    assertTrue(refusal(tasks::tasks).startsWith("both a and b have the property 'keylake.more'"));
  }

  @Test
  void aGuestOfAnotherReleaseIsRefused() {
    Guests.checkVersion("keylake-pipelines", VERSION);
    Guests.checkVersion("keylake-pipelines", null);
    assertEquals(
        "the server has keylake-pipelines 0.0.9 and keylake %s; start it with jars of one version"
            .formatted(VERSION),
        refusal(() -> Guests.checkVersion("keylake-pipelines", "0.0.9")));
  }

  @Test
  void aMissingGuestIsNamed() {
    Guests none = new Guests(List.of());
    UnboundProcedure missing = none.missingProcedure("write_tables");
    assertEquals(
        "procedure 'write_tables' needs keylake-pipelines-%s.jar, which the server does not have; add the jar beside keylake-server-%s.jar and start the server again"
            .formatted(VERSION, VERSION),
        refusal(() -> missing.bind(new StructType())));
    assertNull(none.missingProcedure("compact"));
    assertNull(new Guests(List.of(guest("keylake-pipelines"))).missingProcedure("write_tables"));
    assertTrue(none.hasProperty("keylake.equality-deletes"));
    assertTrue(
        refusal(() -> none.checkProperty("keylake.equality-deletes", "{}"))
            .startsWith(
                "property 'keylake.equality-deletes' needs keylake-plain-deletes-%s.jar"
                    .formatted(VERSION)));
  }

  @Test
  void whatIsNotDoneForATableIsTold() {
    Map<String, String> properties = Map.of("keylake.equality-deletes", "{}", "x", "y");
    Guests none = new Guests(List.of());
    assertEquals(List.of(), none.undone(Map.of("x", "y")));
    assertEquals(
        List.of(refusal(() -> none.checkProperty("keylake.equality-deletes", "{}"))),
        none.undone(properties));
    assertEquals(List.of(), new Guests(List.of(guest("keylake-plain-deletes"))).undone(properties));
  }

  @Test
  void valuesOfPropertiesAreCheckedByTheTask() {
    Guests guests = new Guests(List.of(new Guest("a", List.of(), List.of("keylake.more"))));
    guests.checkProperty("keylake.more", "{}");
    assertEquals("not a policy: 7", refusal(() -> guests.checkProperty("keylake.more", "7")));
  }
}
