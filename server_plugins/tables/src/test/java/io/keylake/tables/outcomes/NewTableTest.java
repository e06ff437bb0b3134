package io.keylake.tables.outcomes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.SteeredOperations;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.iceberg.BaseTransaction;
import org.apache.iceberg.Schema;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Creations of tables whose request or answer is lost, in a catalog that says whether there is a
 * table.
 */
class NewTableTest {
  private static final TableIdentifier NAME = TableIdentifier.of("shop", "orders");

  private final InMemoryCatalog catalog = new InMemoryCatalog();
  private final AtomicInteger sent = new AtomicInteger();

  @BeforeEach
  void openCatalog() {
    catalog.initialize("lake", Map.of());
    catalog.createNamespace(Namespace.of("shop"));
  }

  private BaseTransaction creation() {
    Schema schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get()));
    return (BaseTransaction)
        catalog
            .buildTable(NAME, schema)
            .withProperty("commit.status-check.min-wait-ms", "1")
            .createTransaction();
  }

  /**
   * @param taken whether the catalog takes each of the first requests, whose answers are lost
   */
  private void create(List<Boolean> taken) {
    BaseTransaction creation = creation();
    SteeredOperations steered =
        new SteeredOperations(
            creation.underlyingOps(),
            toCatalog -> {
              int number = sent.getAndIncrement();
              if (number >= taken.size() || taken.get(number)) {
                toCatalog.run();
              }
              if (number < taken.size()) {
                throw new IllegalStateException("the connection was reset");
              }
            },
            () -> {
              if (!catalog.tableExists(NAME)) {
                throw new NoSuchTableException("There is no table %s", NAME);
              }
            });
    CertainOperations.of(steered, "shop.orders").commit(null, creation.currentMetadata());
  }

  @Test
  void aRequestThatIsLostIsSentAgain() {
    create(List.of(false, false));
    assertEquals(3, sent.get());
    assertTrue(catalog.tableExists(NAME));
  }

  @Test
  void anAnswerThatIsLostIsLookedUp() {
    create(List.of(true));
    assertEquals(1, sent.get());
    assertTrue(catalog.tableExists(NAME));
  }

  @Test
  void aTableOfSomebodyElseIsNotTakenForIt() {
    creation().commitTransaction();
    assertThrows(AlreadyExistsException.class, () -> create(List.of()));
  }
}
