package io.keylake.plaindeletes.index;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.storage.MemoryBudget;
import java.io.IOException;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** The index beside a map of objects, on random keys. */
class DeleteIndexTest {
  private static final List<Type> TYPES =
      List.of(
          Types.BooleanType.get(),
          Types.IntegerType.get(),
          Types.LongType.get(),
          Types.FloatType.get(),
          Types.DoubleType.get(),
          Types.DateType.get(),
          Types.TimeType.get(),
          Types.TimestampType.withZone(),
          Types.TimestampType.withoutZone(),
          Types.TimestampNanoType.withZone(),
          Types.StringType.get(),
          Types.UUIDType.get(),
          Types.FixedType.ofLength(3),
          Types.BinaryType.get(),
          Types.DecimalType.of(9, 2),
          Types.DecimalType.of(38, 10));

  private static List<DeleteFile> deleteFiles = List.of();

  @TempDir Path directory;

  /** Memory of a limited size, which must all be given back. */
  private static final class Limited implements MemoryBudget {
    private final long limit;
    private final AtomicLong taken = new AtomicLong();
    private long most;

    Limited(long limit) {
      this.limit = limit;
    }

    @Override
    public boolean take(long bytes) {
      if (taken.get() + bytes > limit) {
        return false;
      }
      most = Math.max(most, taken.addAndGet(bytes));
      return true;
    }

    @Override
    public void give(long bytes) {
      assertTrue(taken.addAndGet(-bytes) >= 0);
    }
  }

  private record Row(List<@Nullable Object> values) implements StructLike {
    @Override
    public int size() {
      return values.size();
    }

    @Override
    public <T> T get(int position, Class<T> type) {
      return type.cast(values.get(position));
    }

    @Override
    public <T> void set(int position, T value) {
      throw new UnsupportedOperationException();
    }
  }

  static List<List<Type>> keyTypes() {
    List<List<Type>> all = new ArrayList<>();
    TYPES.forEach(type -> all.add(List.of(type)));
    all.add(List.of(Types.LongType.get(), Types.StringType.get()));
    all.add(List.of(Types.StringType.get(), Types.StringType.get(), Types.IntegerType.get()));
    all.add(TYPES);
    return all;
  }

  private static DeleteGroup group(List<Type> types, int files) {
    List<NestedField> fields =
        IntStream.range(0, types.size())
            .mapToObj(i -> NestedField.optional(i + 1, "f" + i, types.get(i)))
            .toList();
    return new DeleteGroup(fields, deleteFiles.subList(0, files));
  }

  /** They get their numbers from commits. */
  @BeforeAll
  static void makeFiles() throws IOException {
    deleteFiles = filesWithSequenceNumbers();
  }

  private static List<DeleteFile> filesWithSequenceNumbers() throws IOException {
    Schema schema = new Schema(NestedField.optional(1, "id", Types.LongType.get()));
    DeletesTable made = new DeletesTable(schema, PartitionSpec.unpartitioned(), 2);
    made.table
        .newAppend()
        .appendFile(
            DataFiles.builder(PartitionSpec.unpartitioned())
                .withPath("data.avro")
                .withFileSizeInBytes(1)
                .withRecordCount(1)
                .build())
        .commit();
    for (int i = 0; i < 5; i++) {
      made.table
          .newRowDelta()
          .addDeletes(
              FileMetadata.deleteFileBuilder(PartitionSpec.unpartitioned())
                  .ofEqualityDeletes(1)
                  .withFormat(FileFormat.AVRO)
                  .withPath(i + ".avro")
                  .withFileSizeInBytes(100)
                  .withRecordCount(10)
                  .build())
          .commit();
    }
    return made.planned().groups().get(0).files();
  }

  private static @Nullable Object value(Random random, Type type) {
    if (random.nextInt(10) == 0) {
      return null;
    }
    int small = random.nextInt(50) - 25;
    return switch (type.typeId()) {
      case BOOLEAN -> random.nextBoolean();
      case INTEGER, DATE -> small;
      case LONG, TIME, TIMESTAMP, TIMESTAMP_NANO ->
          random.nextInt(20) == 0 ? Long.MIN_VALUE + small + 25 : small * 1_000_000_007L;
      case FLOAT -> small == 0 ? -0.0f : small == 1 ? Float.NaN : small == 2 ? 0.0f : small / 3f;
      case DOUBLE -> small == 0 ? -0.0 : small == 1 ? Double.NaN : small == 2 ? 0.0 : small / 3.0;
      case STRING -> "é".repeat(Math.abs(small) / 5) + small;
      case UUID -> new UUID(small, -small);
      case FIXED -> ByteBuffer.wrap(new byte[] {(byte) small, 0, 1});
      case BINARY -> ByteBuffer.wrap(new byte[] {1, (byte) small}, Math.abs(small) % 2, 1);
      case DECIMAL -> new BigDecimal(BigInteger.valueOf(small), ((Types.DecimalType) type).scale());
      default -> throw new IllegalArgumentException(type.toString());
    };
  }

  private static Row row(Random random, List<Type> types) {
    return new Row(Arrays.asList(types.stream().map(type -> value(random, type)).toArray()));
  }

  @ParameterizedTest
  @MethodSource("keyTypes")
  void anIndexHasTheNewestDeleteOfEachKey(List<Type> types) throws IOException {
    compare(types, 3_000, Long.MAX_VALUE);
  }

  @ParameterizedTest
  @MethodSource("keyTypes")
  void anIndexOnDiskHasThemToo(List<Type> types) throws IOException {
    compare(types, 30_000, 0);
  }

  private void compare(List<Type> types, int rows, long limit) throws IOException {
    Random random = new Random(types.hashCode() + rows);
    DeleteGroup group = group(types, 5);
    Map<String, List<Row>> stored = new HashMap<>();
    Map<Row, Long> expected = new HashMap<>();
    for (DeleteFile file : group.files()) {
      List<Row> deleted = new ArrayList<>();
      for (int i = 0; i < rows / 5; i++) {
        Row row = row(random, types);
        deleted.add(row);
        expected.merge(row, file.dataSequenceNumber(), Math::max);
      }
      stored.put(file.location(), deleted);
    }
    StructKeys keys = new StructKeys(group, group.fields());
    Limited memory = new Limited(limit);
    DeleteFileRows source =
        (any, file, into) -> {
          for (Row row : stored.get(file.location())) {
            into.add(keys.of(row));
          }
        };
    try (DeleteIndex index = DeleteIndex.load(group, source, memory, directory)) {
      assertEquals(expected.size(), index.keys());
      StructKeys looked = new StructKeys(group, group.fields());
      expected.forEach((row, newest) -> assertEquals(newest, index.newest(looked.of(row))));
      for (int i = 0; i < rows; i++) {
        Row row = row(random, types);
        assertEquals(expected.getOrDefault(row, -1L), index.newest(looked.of(row)));
      }
    }
    assertEquals(0, memory.taken.get());
  }

  private static DeleteFileRows numbers(long count, long factor) {
    return (group, file, into) -> {
      DeleteKey key = group.newKey();
      for (long i = 0; i < count; i++) {
        key.clear();
        key.addNumber(i * factor);
        into.add(key);
      }
    };
  }

  @Test
  void aNumberNeedsAtMost16Bytes() throws IOException {
    DeleteGroup group = group(List.of(Types.LongType.get()), 3);
    for (long keys : new long[] {100_000, 131_072, 999_983}) {
      Limited memory = new Limited(Long.MAX_VALUE);
      try (DeleteIndex index = DeleteIndex.load(group, numbers(keys, 1), memory, directory)) {
        assertEquals(keys, index.keys());
        assertTrue(index.memoryBytes() <= 16 * keys, () -> index.memoryBytes() + " for " + keys);
        assertTrue(memory.most <= 16 * keys, () -> memory.most + " for " + keys);
      }
      assertEquals(0, memory.taken.get());
    }
  }

  @Test
  void pastTheBudgetKeysAreOnDisk() throws IOException {
    DeleteGroup group = group(List.of(Types.LongType.get()), 2);
    Limited memory = new Limited(3 << 20);
    try (DeleteIndex index = DeleteIndex.load(group, numbers(1_000_000, 7), memory, directory)) {
      assertEquals(1_000_000, index.keys());
      assertTrue(memory.most > 1 << 20);
      assertEquals(0, index.memoryBytes());
      assertEquals(1_000_000 * 12, index.spilledBytes());
      long newest = group.files().get(1).dataSequenceNumber();
      DeleteKey key = group.newKey();
      for (long i = 0; i < 7_000_000; i += 997) {
        key.clear();
        key.addNumber(i);
        assertEquals(i % 7 == 0, index.deletes(key, newest - 1));
        assertFalse(index.deletes(key, newest));
      }
    }
    assertEquals(0, memory.taken.get());
  }

  @Test
  void aKeyMayBeLargerThanAPage() throws IOException {
    DeleteGroup group = group(List.of(Types.BinaryType.get()), 2);
    byte[] large = new byte[3 << 20];
    DeleteFileRows source =
        (any, file, into) -> {
          DeleteKey key = group.newKey();
          for (int size : new int[] {1, large.length, 2}) {
            key.clear();
            key.addBytes(large, 0, size);
            into.add(key);
          }
        };
    try (DeleteIndex index = DeleteIndex.load(group, source, new Limited(0), directory)) {
      assertEquals(3, index.keys());
      DeleteKey key = group.newKey();
      key.addBytes(large, 0, large.length);
      assertTrue(index.deletes(key, group.files().get(1).dataSequenceNumber() - 1));
      key.clear();
      key.addBytes(large, 0, large.length - 1);
      assertEquals(-1, index.newest(key));
    }
  }

  @Test
  void aLoadThatFailsHoldsNoMemory() throws IOException {
    DeleteGroup group = group(List.of(Types.LongType.get()), 2);
    Limited memory = new Limited(Long.MAX_VALUE);
    DeleteFileRows failing =
        (any, file, into) -> {
          numbers(500_000, 1).read(any, file, into);
          throw new IllegalStateException("no more");
        };
    assertThrows(
        IllegalStateException.class, () -> DeleteIndex.load(group, failing, memory, directory));
    assertTrue(memory.most > 0);
    assertEquals(0, memory.taken.get());
  }

  @Test
  void aLocalDiskThatFailsIsNamed() throws IOException {
    DeleteGroup group = group(List.of(Types.LongType.get()), 1);
    Path gone = directory.resolve("gone");
    KeylakeException error =
        assertThrows(
            KeylakeException.class,
            () -> DeleteIndex.load(group, numbers(100_000, 1), new Limited(0), gone));
    assertEquals(KeylakeException.Kind.STORE_FAILED, error.kind());
    String said = "equality deletes could not be sorted in " + gone + ": it is not there; ";
    assertTrue(error.getMessage().contains(said), error.getMessage());
  }
}
