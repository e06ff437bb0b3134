package io.keylake.tables.catalogs;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.spec.TableDefinition;
import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.junit.jupiter.api.Test;

/** How often a store is asked for a file of metadata, and what is said of its failure. */
class PromptOperationsTest {
  private final Store store = new Store();
  private final AtomicReference<String> newest = new AtomicReference<>();

  PromptOperationsTest() {
    TableDefinition definition = MemoryTable.definition();
    Schema schema = definition.icebergSchema();
    opened()
        .commit(
            null,
            TableMetadata.newTableMetadata(
                schema,
                definition.partitionSpec(schema),
                definition.sortOrder(schema),
                "memory://orders",
                definition.properties(Map.of())));
  }

  /** A store that fails as often as there are failures, and then answers. */
  private static final class Store extends InMemoryFileIO {
    private final Queue<RuntimeException> failures = new ArrayDeque<>();
    private int reads;

    @Override
    public InputFile newInputFile(String location) {
      reads++;
      RuntimeException failure = failures.poll();
      if (failure != null) {
        throw failure;
      }
      return super.newInputFile(location);
    }
  }

  private TableOperations opened() {
    MetadataFiles files = new MetadataFiles(store);
    return new PromptOperations(
        new BaseMetastoreTableOperations() {
          @Override
          protected String tableName() {
            return "shop.orders";
          }

          @Override
          public FileIO io() {
            return files;
          }

          @Override
          protected void doRefresh() {
            refreshFromMetadataLocation(newest.get());
          }

          @Override
          protected void doCommit(TableMetadata base, TableMetadata next) {
            newest.set(writeNewMetadataIfRequired(base == null, next));
          }
        },
        files);
  }

  private static RuntimeException said(int status) {
    return new RuntimeIOException(
        new IOException("no (Service: S3, Status Code: %d, Request ID: 7)".formatted(status)));
  }

  private void assertToldAtOnce(RuntimeException failure) {
    TableOperations table = opened();
    store.failures.add(failure);
    store.reads = 0;
    assertSame(failure, assertThrows(RuntimeException.class, table::refresh));
    assertEquals(1, store.reads);
    assertEquals("memory://orders", table.refresh().location()); // once it answers again
  }

  @Test
  void aRefusalIsToldAtOnce() {
    assertToldAtOnce(said(403));
  }

  @Test
  void aFileThatIsNotThereIsToldAtOnce() {
    assertToldAtOnce(new NotFoundException("it is not there"));
  }

  @Test
  void aFailureWithoutAReasonIsRepeated() {
    store.failures.add(new RuntimeIOException(new IOException("Input/output error")));
    store.reads = 0;
    assertEquals("memory://orders", opened().refresh().location());
    assertEquals(2, store.reads);
  }

  @Test
  void filesOfATableAreOpenedByTheStoreItself() {
    TableOperations table = opened();
    assertSame(store, table.io());
    assertSame(store, table.temp(table.refresh()).io());
    store.failures.add(said(403));
    assertThrows(RuntimeIOException.class, () -> table.io().newInputFile(newest.get()));
  }
}
