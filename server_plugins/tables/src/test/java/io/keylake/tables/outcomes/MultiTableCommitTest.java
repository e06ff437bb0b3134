package io.keylake.tables.outcomes;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.catalogs.MetadataMove;
import io.keylake.tables.catalogs.PointerCatalog;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Queue;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What becomes of a commit to several tables whose request or answer is lost. */
class MultiTableCommitTest {
  private static final TableIdentifier ORDERS = TableIdentifier.of("shop", "orders");
  private static final TableIdentifier STOCK = TableIdentifier.of("shop", "stock");
  private static final TableIdentifier NEW = TableIdentifier.of("shop", "new");
  private static final String COUNT = "count";

  private final Memory catalog = new Memory();

  /** A catalog whose steps fail as they are told to, before or after they are done. */
  private static final class Memory implements PointerCatalog {
    private final Set<String> files = new HashSet<>();
    private final Map<TableIdentifier, String> newest = new HashMap<>();
    private final Queue<Consumer<Runnable>> faults = new ArrayDeque<>();
    private final InMemoryFileIO io =
        new InMemoryFileIO() {
          @Override
          public void deleteFile(String location) {
            files.add(location);
            super.deleteFile(location);
          }
        };
    private boolean isAway;
    private int steps;

    @Override
    public TableOperations operations(TableIdentifier table) {
      return new BaseMetastoreTableOperations() {
        @Override
        protected String tableName() {
          return table.toString();
        }

        @Override
        public FileIO io() {
          return io;
        }

        @Override
        protected void doRefresh() {
          if (isAway) {
            throw new IllegalStateException("no answer");
          }
          refreshFromMetadataLocation(newest.get(table));
        }

        @Override
        protected void doCommit(TableMetadata base, TableMetadata next) {
          newest.put(table, writeNewMetadataIfRequired(base == null, next));
        }
      };
    }

    @Override
    public Optional<String> metadataLocation(TableIdentifier table) {
      return Optional.ofNullable(newest.get(table));
    }

    @Override
    public boolean move(List<MetadataMove> moves) {
      steps++;
      boolean[] isDone = new boolean[1];
      Runnable step =
          () -> {
            isDone[0] =
                moves.stream()
                    .allMatch(each -> Objects.equals(newest.get(each.table()), each.from()));
            if (isDone[0]) {
              moves.forEach(each -> newest.put(each.table(), each.to()));
            }
          };
      Consumer<Runnable> fault = faults.poll();
      if (fault == null) {
        step.run();
      } else {
        fault.accept(step);
      }
      return isDone[0];
    }
  }

  private static void cut() {
    throw new IllegalStateException("the connection was cut");
  }

  private static TableMetadata empty(TableIdentifier table) {
    Schema schema = new Schema(Types.NestedField.required(1, "id", Types.LongType.get()));
    return TableMetadata.newTableMetadata(
        schema,
        PartitionSpec.unpartitioned(),
        SortOrder.unsorted(),
        "memory://" + table.name(),
        Map.of("commit.status-check.min-wait-ms", "1"));
  }

  @BeforeEach
  void createTables() {
    for (TableIdentifier table : List.of(ORDERS, STOCK)) {
      catalog.operations(table).commit(null, empty(table));
    }
  }

  private static TableMetadata counted(TableMetadata table, int count) {
    return TableMetadata.buildFrom(table)
        .setProperties(Map.of(COUNT, String.valueOf(count)))
        .build();
  }

  private TableChange change(TableIdentifier table, int count) {
    TableOperations operations = catalog.operations(table);
    TableMetadata base = operations.current();
    return new TableChange(
        table, operations, base, counted(base == null ? empty(table) : base, count));
  }

  private MultiTableCommit commit(int count, TableIdentifier... tables) {
    List<TableChange> changes = new ArrayList<>();
    for (TableIdentifier table : tables) {
      changes.add(change(table, count));
    }
    return new MultiTableCommit(catalog, changes);
  }

  private void others(TableIdentifier table, int count) {
    TableOperations operations = catalog.operations(table);
    TableMetadata base = operations.current();
    operations.commit(base, counted(base, count));
  }

  private void assertCounts(String orders, String stock) {
    assertEquals(orders, catalog.operations(ORDERS).current().properties().get(COUNT));
    assertEquals(stock, catalog.operations(STOCK).current().properties().get(COUNT));
    catalog.newest.values().forEach(each -> assertTrue(catalog.io.fileExists(each), each));
  }

  @Test
  void tablesMoveTogether() {
    commit(1, ORDERS, STOCK, NEW).make();
    assertCounts("1", "1");
    assertEquals("1", catalog.operations(NEW).current().properties().get(COUNT));
    assertTrue(
        catalog.newest.get(ORDERS).matches("memory://orders/metadata/00001-.*.metadata.json"));
    assertTrue(catalog.newest.get(NEW).matches("memory://new/metadata/00000-.*.metadata.json"));
  }

  @Test
  void aRequestThatIsCutIsSentAgain() {
    catalog.faults.add(step -> cut());
    catalog.faults.add(step -> cut());
    commit(1, ORDERS, STOCK).make();
    assertEquals(3, catalog.steps);
    assertCounts("1", "1");
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void anAnswerThatIsCutIsFoundInTheTables(boolean othersCome) {
    catalog.faults.add(
        step -> {
          step.run();
          if (othersCome) {
            others(ORDERS, 2);
            others(STOCK, 3);
          }
          cut();
        });
    commit(1, ORDERS, STOCK, NEW).make();
    assertEquals(1, catalog.steps);
    assertCounts(othersCome ? "2" : "1", othersCome ? "3" : "1");
    assertEquals("1", catalog.operations(NEW).current().properties().get(COUNT));
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aConflictOfOneTableChangesNone(boolean isCut) {
    MultiTableCommit late = commit(1, ORDERS, STOCK, NEW);
    others(STOCK, 7);
    if (isCut) {
      catalog.faults.add(step -> cut());
    }
    assertThrows(CommitFailedException.class, late::make);
    assertCounts(null, "7");
    assertNull(catalog.operations(NEW).current());
    assertEquals(3, catalog.files.size()); // the metadata that no table has
  }

  @Test
  void aTableThatHasToStayAsItIsIsAConflict() {
    TableOperations operations = catalog.operations(STOCK);
    TableMetadata base = operations.current();
    TableChange stays = new TableChange(STOCK, operations, base, base);
    MultiTableCommit late = new MultiTableCommit(catalog, List.of(change(ORDERS, 1), stays));
    others(STOCK, 7);
    assertThrows(CommitFailedException.class, late::make);
    assertCounts(null, "7");
  }

  @Test
  void aTableThatStaysAsItIsHasItsMetadata() {
    TableOperations operations = catalog.operations(STOCK);
    TableMetadata base = operations.current();
    new MultiTableCommit(
            catalog, List.of(change(ORDERS, 1), new TableChange(STOCK, operations, base, base)))
        .make();
    assertCounts("1", null);
    assertEquals(base.metadataFileLocation(), catalog.newest.get(STOCK));
  }

  @Test
  void nothingIsDeletedWhereNobodySaysWhatBecameOfIt() {
    catalog.faults.add(
        step -> {
          step.run();
          catalog.isAway = true;
          cut();
        });
    String said =
        assertThrows(CommitStateUnknownException.class, commit(1, ORDERS, STOCK)::make)
            .getMessage();
    assertTrue(said.contains("whether shop.orders, shop.stock were changed is not known"), said);
    assertEquals(Set.of(), catalog.files);
    catalog.isAway = false;
    assertCounts("1", "1");
  }
}
