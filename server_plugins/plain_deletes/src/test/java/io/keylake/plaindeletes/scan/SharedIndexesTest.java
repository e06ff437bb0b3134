package io.keylake.plaindeletes.scan;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.plaindeletes.index.DeleteIndex;
import io.keylake.plaindeletes.index.DeleteKey;
import io.keylake.plaindeletes.index.EqualityDeletes;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.EqualityDeleteWriter;
import org.apache.iceberg.encryption.EncryptedFiles;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.encryption.EncryptionKeyMetadata;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.api.java.JavaFutureAction;
import org.apache.spark.api.java.JavaSparkContext;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tasks of a real Spark that want an index, and end in any way while it is loaded or held. */
class SharedIndexesTest {
  private static final Schema SCHEMA =
      new Schema(NestedField.required(1, "id", Types.LongType.get()));
  private static final int KEYS = 400_000;
  private static final int TASKS = 4;
  private static final long NO_LIMIT = 1L << 40;
  private static final long LITTLE = 1 << 20;
  private static final long ROOM_FOR_ONE = 7 << 20;

  // What tasks share with the test: they run in its process.
  private static ScanDeletes scan;
  private static SharedIndexes indexes;
  private static volatile long stopped; // the attempt that waits; -1 for none yet
  private static volatile boolean isFirst;
  private static final AtomicInteger HOLDING = new AtomicInteger();

  @TempDir static Path local;
  private static SparkContext spark;
  private static Table table;

  /** One for all tests: a process keeps the local directory of its first Spark. */
  @BeforeAll
  static void startSpark() throws IOException {
    SparkConf conf =
        new SparkConf()
            .setMaster("local[4,4]")
            .setAppName("test")
            .set("spark.ui.enabled", "false")
            .set("spark.driver.host", "127.0.0.1")
            .set("spark.driver.bindAddress", "127.0.0.1")
            .set("spark.local.dir", local.toString());
    spark = new SparkContext(conf);
    table = tableWithDeletes();
  }

  @AfterAll
  static void stopSpark() {
    spark.stop();
  }

  @BeforeEach
  void newScan() throws IOException {
    indexes = new SharedIndexes(Duration.ofSeconds(1));
    stopped = -1;
    isFirst = true;
    scan = newScan(table, NO_LIMIT);
  }

  private static Table tableWithDeletes() throws IOException {
    InMemoryCatalog catalog = new InMemoryCatalog();
    catalog.initialize("memory", Map.of());
    catalog.createNamespace(Namespace.of("n"));
    Table table =
        catalog
            .buildTable(TableIdentifier.of("n", "t" + UUID.randomUUID()), SCHEMA)
            .withProperty(TableProperties.FORMAT_VERSION, "2")
            .create();
    GenericFileWriterFactory.Builder writers =
        new GenericFileWriterFactory.Builder(table)
            .dataFileFormat(FileFormat.PARQUET)
            .deleteFileFormat(FileFormat.PARQUET)
            .dataSchema(SCHEMA)
            .equalityDeleteRowSchema(SCHEMA)
            .equalityFieldIds(new int[] {1});
    DataWriter<Record> data =
        writers.build().newDataWriter(newFile(table), PartitionSpec.unpartitioned(), null);
    EqualityDeleteWriter<Record> deletes =
        writers
            .build()
            .newEqualityDeleteWriter(newFile(table), PartitionSpec.unpartitioned(), null);
    GenericRecord row = GenericRecord.create(SCHEMA);
    try (data;
        deletes) {
      for (long id = 0; id < KEYS; id++) {
        row.setField("id", id);
        data.write(row);
        deletes.write(row);
      }
    }
    table.newAppend().appendFile(data.toDataFile()).commit();
    table.newRowDelta().addDeletes(deletes.toDeleteFile()).commit();
    return table;
  }

  private static EncryptedOutputFile newFile(Table table) {
    String name = "%s/%s.parquet".formatted(table.location(), UUID.randomUUID());
    return EncryptedFiles.encryptedOutput(
        table.io().newOutputFile(name), EncryptionKeyMetadata.empty());
  }

  private static ScanDeletes newScan(Table table, long memoryBytes) throws IOException {
    List<FileScanTask> tasks = new ArrayList<>();
    try (CloseableIterable<FileScanTask> planned = table.newScan().planFiles()) {
      planned.forEach(tasks::add);
    }
    EqualityDeletes planned = EqualityDeletes.of(tasks, SCHEMA, table.specs());
    return new ScanDeletes(
        UUID.randomUUID().toString(), table, planned.groups(), new int[] {TASKS}, memoryBytes);
  }

  /** A task that stops at its first index until it is killed. */
  private static long looked(int number, boolean stopsFirst) {
    TaskContext task = TaskContext.get();
    DeleteCounters counters = new DeleteCounters();
    DeleteIndex index = indexes.acquire(scan, 0, task, counters);
    HOLDING.incrementAndGet();
    try {
      if (stopsFirst && isOnlyFirst()) {
        waitUntilKilled(task);
        throw new TaskKilledException("while it held an index");
      }
      DeleteKey key = scan.groups().get(0).newKey();
      key.clear();
      key.addNumber(number);
      assertTrue(index.deletes(key, 1));
    } finally {
      indexes.release(scan, 0, task);
      HOLDING.decrementAndGet();
    }
    indexes.finish(scan, List.of(0), number);
    return counters.filesLoaded;
  }

  private static void waitUntilKilled(TaskContext task) {
    stopped = task.taskAttemptId();
    while (!task.isInterrupted()) {
      Thread.onSpinWait();
    }
  }

  /** A table whose first file that is opened by a task opens when the task is killed. */
  private static final class StoppingTable extends BaseTable {
    StoppingTable(TableOperations operations) {
      super(operations, "stopping");
    }

    @Override
    public FileIO io() {
      FileIO io = super.io();
      return new FileIO() {
        @Override
        public InputFile newInputFile(String location) {
          if (TaskContext.get() != null && isOnlyFirst()) {
            waitUntilKilled(TaskContext.get());
          }
          return io.newInputFile(location);
        }

        @Override
        public OutputFile newOutputFile(String location) {
          return io.newOutputFile(location);
        }

        @Override
        public void deleteFile(String location) {
          io.deleteFile(location);
        }
      };
    }
  }

  private static synchronized boolean isOnlyFirst() {
    boolean first = isFirst;
    isFirst = false;
    return first;
  }

  private JavaFutureAction<List<Long>> job(boolean stopsFirst) {
    return JavaSparkContext.fromSparkContext(spark)
        .parallelize(IntStream.range(0, TASKS).boxed().toList(), TASKS)
        .map(number -> looked(number, stopsFirst))
        .collectAsync();
  }

  private static long loads(JavaFutureAction<List<Long>> job) throws Exception {
    return job.get(60, TimeUnit.SECONDS).stream().mapToLong(Long::longValue).sum();
  }

  private static void waitFor(BooleanSupplier condition) throws InterruptedException {
    long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
    while (!condition.getAsBoolean()) {
      assertTrue(System.nanoTime() < until);
      Thread.sleep(10);
    }
  }

  /** Spark's own data, such as that of tasks, is some kilobytes; the index has several pages. */
  private static boolean isMemoryFree() {
    return SparkEnv.get().memoryManager().storageMemoryUsed() < 1 << 20;
  }

  private boolean isDiskFree() {
    try (Stream<Path> all = Files.walk(local)) {
      return all.noneMatch(each -> each.getFileName().toString().startsWith("keylake-deletes"));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  @ParameterizedTest
  @ValueSource(longs = {NO_LIMIT, LITTLE})
  void aTaskThatIsKilledWhileItHoldsAnIndexIsDoneAgain(long memoryBytes) throws Exception {
    scan = newScan(table, memoryBytes);
    JavaFutureAction<List<Long>> job = job(true);
    waitFor(() -> stopped >= 0);
    assertEquals(memoryBytes == LITTLE, isMemoryFree());
    assertFalse(isDiskFree());
    spark.killTaskAttempt(stopped, true, "test");
    assertTrue(loads(job) <= 1, "the one that was killed may have loaded it");
    assertTrue(isMemoryFree());
    assertTrue(isDiskFree());
  }

  @ParameterizedTest
  @ValueSource(longs = {NO_LIMIT, LITTLE})
  void aTaskThatIsKilledWhileItLoadsAnIndexLeavesItToAnother(long memoryBytes) throws Exception {
    scan = newScan(new StoppingTable(((BaseTable) table).operations()), memoryBytes);
    JavaFutureAction<List<Long>> job = job(false);
    waitFor(() -> stopped >= 0);
    spark.killTaskAttempt(stopped, true, "test");
    assertEquals(1, loads(job));
    assertTrue(isMemoryFree());
    assertTrue(isDiskFree());
  }

  @Test
  void aJobThatIsCancelledGivesMemoryAndDiskBack() throws Exception {
    JavaFutureAction<List<Long>> job = job(true);
    waitFor(() -> stopped >= 0);
    job.cancel(true);
    waitFor(() -> isMemoryFree() && isDiskFree());
  }

  /** It is not waited for: what nobody holds goes when memory is needed. */
  @Test
  void memoryOfAJobThatIsCancelledIsThereForTheNext() throws Exception {
    indexes = new SharedIndexes(Duration.ofHours(1));
    scan = newScan(table, ROOM_FOR_ONE);
    JavaFutureAction<List<Long>> job = job(true);
    waitFor(() -> stopped >= 0);
    job.cancel(true);
    waitFor(() -> HOLDING.get() == 0);
    scan = newScan(table, ROOM_FOR_ONE);
    assertEquals(1, loads(job(false)));
    assertTrue(isMemoryFree());
    assertTrue(isDiskFree(), "the directory of the first is gone, too");
  }

  @Test
  void aDeleteFileThatIsNotThereLeavesNothing() throws Exception {
    Table table = tableWithDeletes();
    scan = newScan(table, NO_LIMIT);
    String location = scan.groups().get(0).files().get(0).location();
    table.io().deleteFile(location);
    ExecutionException error = assertThrows(ExecutionException.class, () -> loads(job(false)));
    String words = "file " + location + " is not there";
    assertTrue(String.valueOf(error.getCause()).contains(words), error.getCause().toString());
    waitFor(() -> isMemoryFree() && isDiskFree());
  }
}
