package io.keylake.spark.columnfilters;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.integrity.BytesBeforeFooter;
import io.keylake.spark.integrity.ChecksummedOutput;
import io.keylake.tables.FileDamage;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.UUID;
import java.util.stream.LongStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.values.bloomfilter.BloomFilter;
import org.apache.parquet.filter2.predicate.FilterApi;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.Util;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.api.Binary;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ColumnFiltersTest {
  private static final List<NestedField> KEY =
      List.of(
          NestedField.required(1, "i", Types.IntegerType.get()),
          NestedField.required(2, "l", Types.LongType.get()),
          NestedField.required(3, "t", Types.StringType.get()),
          NestedField.required(4, "b", Types.BinaryType.get()),
          NestedField.required(5, "u", Types.UUIDType.get()),
          NestedField.required(6, "d", Types.DecimalType.of(9, 2)),
          NestedField.required(7, "e", Types.DecimalType.of(18, 2)),
          NestedField.required(8, "f", Types.DecimalType.of(38, 2)),
          NestedField.required(9, "day", Types.DateType.get()),
          NestedField.required(10, "same", Types.LongType.get()),
          NestedField.required(11, "flag", Types.BooleanType.get()));
  private static final Schema SCHEMA = new Schema(KEY);
  private static final HadoopFileIO IO = new HadoopFileIO(new Configuration());
  private static final int ROWS = 30_000;
  private static final int ABSENT = 3000;

  @TempDir private Path folder;

  private static InternalRow row(int n) {
    return new GenericInternalRow(
        new Object[] {
          n,
          n - 7L * ROWS,
          UTF8String.fromString("text " + n),
          ("bytes " + n).getBytes(StandardCharsets.UTF_8),
          UTF8String.fromString(new UUID(n, -n).toString()),
          decimal(n, 9),
          decimal(-n, 18),
          decimal(-n, 38),
          n,
          n % 3L,
          n % 2 == 0
        });
  }

  private static Decimal decimal(long unscaled, int precision) {
    return Decimal.apply(new scala.math.BigDecimal(BigDecimal.valueOf(unscaled, 2)), precision, 2);
  }

  private Path written(int rows, BytesBeforeFooter more, WrittenFilters keys) throws IOException {
    Path path = folder.resolve("file-%d.parquet".formatted(folder.toFile().list().length));
    try (FileAppender<InternalRow> file =
        Parquet.write(new ChecksummedOutput(IO.newOutputFile(path.toUri().toString()), more))
            .schema(SCHEMA)
            .set("write.parquet.row-group-size-bytes", "1000000")
            .createWriterFunc(
                (expected, parquet) ->
                    SparkParquetWriters.buildWriter(
                        expected, parquet, SparkSchemaUtil.convert(SCHEMA)))
            .build()) {
      for (int n = 0; n < rows; n++) {
        file.add(row(n));
        keys.add(row(n));
      }
    }
    return path;
  }

  private Path written(int rows) throws IOException {
    WrittenFilters keys = new WrittenFilters(KEY, List.of(), SCHEMA);
    return written(rows, keys, keys);
  }

  private static ParquetFileReader opened(Path path) throws IOException {
    return ParquetFileReader.open(new LocalInputFile(path));
  }

  /** The hashes of a row as Parquet has them of the values that its pages have. */
  private static long[] hashes(BloomFilter filter, int n) {
    return new long[] {
      filter.hash(n),
      filter.hash(n - 7L * ROWS),
      filter.hash(Binary.fromString("text " + n)),
      filter.hash(Binary.fromString("bytes " + n)),
      filter.hash(
          Binary.fromConstantByteArray(ByteBuffer.allocate(16).putLong(n).putLong(-n).array())),
      filter.hash(n),
      filter.hash((long) -n),
      filter.hash(Binary.fromConstantByteArray(wide(-n))),
      filter.hash(n),
      filter.hash(n % 3L)
    };
  }

  private static byte[] wide(long number) {
    byte[] bytes = new byte[16];
    Arrays.fill(bytes, (byte) (number < 0 ? -1 : 0));
    ByteBuffer.wrap(bytes).putLong(8, number);
    return bytes;
  }

  @Test
  void theReaderOfParquetFindsAllKeysAndFewOthers() throws IOException {
    try (ParquetFileReader file = opened(written(ROWS))) {
      assertTrue(file.getRowGroups().size() > 1);
      int first = 0;
      for (BlockMetaData group : file.getRowGroups()) {
        for (int column = 0; column < 10; column++) {
          BloomFilter filter = file.readBloomFilter(group.getColumns().get(column));
          for (int n = first; n < first + group.getRowCount(); n++) {
            assertTrue(filter.findHash(hashes(filter, n)[column]), column + " of " + n);
          }
          if (column < 9) {
            int found = 0;
            for (int n = ROWS; n < ROWS + ABSENT; n++) {
              found += filter.findHash(hashes(filter, n)[column]) ? 1 : 0;
            }
            assertTrue(found < 0.04 * ABSENT, found + " of column " + column);
            assertTrue(filter.getBitsetSize() * 8 < 16.0 * group.getRowCount() + 512);
          } else {
            assertEquals(32, filter.getBitsetSize());
          }
        }
        assertEquals(-1, group.getColumns().get(10).getBloomFilterOffset());
        first += (int) group.getRowCount();
      }
    }
  }

  @Test
  void theFooterOfAFileSaysAllElseAsWithoutFilters() throws IOException {
    WrittenFilters keys = new WrittenFilters(KEY, List.of(), SCHEMA);
    byte[] without = footer(written(ROWS, BytesBeforeFooter.NONE, keys));
    FileMetaData with = decoded(footer(written(ROWS)));
    assertArrayEquals(encoded(decoded(without)), withoutChecksum(without));
    with.getRow_groups().stream()
        .flatMap(group -> group.getColumns().stream())
        .forEach(
            chunk -> {
              chunk.getMeta_data().unsetBloom_filter_offset();
              chunk.getMeta_data().unsetBloom_filter_length();
            });
    with.getKey_value_metadata().removeIf(each -> each.getKey().equals(ColumnFilters.NAME));
    assertEquals(decoded(without), with);
  }

  private static byte[] footer(Path path) throws IOException {
    byte[] bytes = Files.readAllBytes(path);
    int end = bytes.length - 8;
    int length = ByteBuffer.wrap(bytes).order(ByteOrder.LITTLE_ENDIAN).getInt(end);
    return Arrays.copyOfRange(bytes, end - length, end);
  }

  private static FileMetaData decoded(byte[] footer) throws IOException {
    return Util.readFileMetaData(new ByteArrayInputStream(footer));
  }

  private static byte[] encoded(FileMetaData footer) throws IOException {
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Util.writeFileMetaData(footer, bytes);
    return bytes.toByteArray();
  }

  /** The checksum is a field of 5 + 32 bytes before the byte that ends the footer. */
  private static byte[] withoutChecksum(byte[] footer) {
    byte[] shorter = Arrays.copyOf(footer, footer.length - 5 - 32);
    shorter[shorter.length - 1] = 0;
    return shorter;
  }

  @Test
  void fewRowsHaveNoFilter() throws IOException {
    try (ParquetFileReader file = opened(written(15))) {
      assertEquals(-1, file.getRowGroups().get(0).getColumns().get(0).getBloomFilterOffset());
      assertFalse(file.getFileMetaData().getKeyValueMetaData().containsKey(ColumnFilters.NAME));
    }
  }

  private record Question(AskedFile asked, ParquetMetadata footer, List<Long> requests) {
    static Question of(byte[] content, Path path) throws IOException {
      try (ParquetFileReader file = opened(path)) {
        List<Long> requests = new ArrayList<>();
        ColumnFilters filters =
            ColumnFilters.of(file.getFileMetaData().getKeyValueMetaData()).orElseThrow();
        AskedFile asked =
            new AskedFile(
                UUID.randomUUID().toString(),
                filters,
                (begin, length) -> {
                  requests.add(begin);
                  return Arrays.copyOfRange(content, (int) begin, (int) begin + length);
                });
        return new Question(asked, file.getFooter(), requests);
      }
    }

    List<Integer> groupsOf(Integer... values) {
      List<Integer> ordinals = new ArrayList<>();
      var column = FilterApi.intColumn("i");
      var any =
          Arrays.stream(values)
              .map(
                  value ->
                      (org.apache.parquet.filter2.predicate.FilterPredicate)
                          FilterApi.eq(column, value))
              .reduce(FilterApi::or)
              .orElseThrow();
      var all = FilterApi.and(FilterApi.notEq(column, null), any);
      asked.thatMayHave(footer, all).forEach(group -> ordinals.add(group.getOrdinal()));
      return ordinals;
    }
  }

  @Test
  void rowGroupsAreAskedOnceForEachPart() throws IOException {
    Path path = written(ROWS);
    Question question = Question.of(Files.readAllBytes(path), path);
    int groups = question.footer().getBlocks().size();
    assertTrue(question.groupsOf(0).contains(0));
    assertTrue(question.groupsOf(ROWS - 1).contains(groups - 1));
    long many =
        LongStream.range(ROWS, ROWS + 100)
            .filter(n -> !question.groupsOf((int) n).isEmpty())
            .count();
    assertTrue(many < 10, many + " of 100");
    int asked = question.requests().size();
    assertEquals(asked, question.requests().stream().distinct().count());
    question.groupsOf(ROWS, ROWS + 1, ROWS + 2, 5);
    assertEquals(asked, question.requests().size());
    assertEquals(groups, question.groupsOf((Integer) null, ROWS).size());
  }

  @Test
  void aBitThatIsNotAsItWasWrittenIsTold() throws IOException {
    Path path = written(1000);
    byte[] content = Files.readAllBytes(path);
    Question whole = Question.of(content, path);
    assertEquals(List.of(0), whole.groupsOf(999));
    content[whole.requests().get(0).intValue() + 40] ^= 4;
    Question damaged = Question.of(content, path);
    UncheckedIOException told =
        assertThrows(UncheckedIOException.class, () -> damaged.groupsOf(999));
    assertTrue(told.getCause() instanceof FileDamage);
  }
}
