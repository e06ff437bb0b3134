package io.keylake.tables.catalogs;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.spec.TableDefinition;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicReference;
import java.util.zip.GZIPOutputStream;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
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
    // as another process has written it
    String location = "memory://orders/metadata/another.metadata.json";
    store.addFile(location, content());
    newest.set(location);
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

  @Test
  void whatThisProcessHasWrittenIsNotReadAgain() {
    TableOperations table = opened();
    TableMetadata before = table.refresh();
    store.reads = 0;
    table.commit(before, TableMetadata.buildFrom(before).setProperties(Map.of("a", "b")).build());
    assertEquals("b", opened().refresh().properties().get("a"));
    assertEquals(0, store.reads);
  }

  /** A stream whose first write fails, as one to a store does. */
  private static final class Failing extends PositionOutputStream {
    private final PositionOutputStream stream;
    private boolean hasFailed;

    Failing(PositionOutputStream stream) {
      this.stream = stream;
    }

    @Override
    public long getPos() throws IOException {
      return stream.getPos();
    }

    @Override
    public void write(int one) throws IOException {
      if (!hasFailed) {
        hasFailed = true;
        throw new IOException("no (Service: S3)");
      }
      stream.write(one);
    }

    @Override
    public void close() throws IOException {
      stream.close();
    }
  }

  @Test
  void whatTheStoreHasNotTakenAsAWholeIsReadAgain() throws IOException {
    String location = "memory://orders/metadata/part.metadata.json";
    MetadataFiles files =
        new MetadataFiles(
            new InMemoryFileIO() {
              @Override
              public OutputFile newOutputFile(String path) {
                OutputFile file = store.newOutputFile(path);
                return new OutputFile() {
                  @Override
                  public PositionOutputStream create() {
                    return new Failing(file.create());
                  }

                  @Override
                  public PositionOutputStream createOrOverwrite() {
                    return create();
                  }

                  @Override
                  public String location() {
                    return path;
                  }

                  @Override
                  public InputFile toInputFile() {
                    return file.toInputFile();
                  }
                };
              }

              @Override
              public InputFile newInputFile(String path) {
                return store.newInputFile(path);
              }
            });
    try (OutputStream file = files.newOutputFile(location).create()) {
      assertThrows(IOException.class, () -> file.write('#'));
      file.write('{');
    }
    store.addFile(location, "{}".getBytes(UTF_8)); // somebody has mended it
    store.reads = 0;
    assertEquals(2, files.asked(() -> files.newInputFile(location).getLength()));
    assertEquals(1, store.reads);
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

  private void assertDamaged(String location, byte[] content, int reads, String why) {
    store.addFile(location, content);
    newest.set(location);
    store.reads = 0;
    String said = assertThrows(KeylakeException.class, () -> opened().refresh()).getMessage();
    assertTrue(said.contains("metadata " + location + " is damaged (" + why), said);
    assertEquals(reads, store.reads);
  }

  @Test
  void damagedMetadataIsReadOnceMoreToSayWhy() {
    byte[] content = content();
    content[content.length - 1] = '#';
    assertDamaged("memory://orders/metadata/1.metadata.json", content, 2, "Unexpected character");
  }

  /** Iceberg's parser stops before the checksum. */
  @Test
  void compressedMetadataIsComparedWithItsChecksum() throws IOException {
    ByteArrayOutputStream packed = new ByteArrayOutputStream();
    try (OutputStream file = new GZIPOutputStream(packed)) {
      file.write(content());
    }
    String location = "memory://orders/metadata/1.gz.metadata.json";
    byte[] good = packed.toByteArray();
    store.addFile(location, good);
    newest.set(location);
    assertEquals("memory://orders", opened().refresh().location());
    byte[] flipped = good.clone();
    flipped[good.length - Integer.BYTES - 1] ^= 1;
    assertDamaged(
        "memory://orders/metadata/2.gz.metadata.json", flipped, 1, "Corrupt GZIP trailer");
    byte[] cut = Arrays.copyOf(good, good.length - 1);
    assertDamaged("memory://orders/metadata/3.gz.metadata.json", cut, 1, "it ends too early");
  }

  private byte[] content() {
    try (InputStream file = store.newInputFile(newest.get()).newStream()) {
      return file.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
