package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalInputFile;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarArray;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.roaringbitmap.RoaringBitmap;

/** Files with one bit that is not as it was written: no read gives other rows. */
class DamagedFileTest {
  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message m { required int64 k = 1; optional binary t (UTF8) = 2; optional double d = 3;"
              + " optional binary b = 4; optional group l (LIST) = 5 { repeated group list {"
              + " optional int32 element = 6; } } }");
  private static final List<NestedField> COLUMNS =
      List.of(
          NestedField.required(1, "k", Types.LongType.get()),
          NestedField.optional(2, "t", Types.StringType.get()),
          NestedField.optional(3, "d", Types.DoubleType.get()),
          NestedField.optional(4, "b", Types.BinaryType.get()),
          NestedField.optional(5, "l", Types.ListType.ofOptional(6, Types.IntegerType.get())));
  private static final HadoopFileIO IO = new HadoopFileIO(new Configuration());
  private static final int ROWS = 400;
  private static final RoaringBitmap SOME = RoaringBitmap.bitmapOf(3, 77, 78, 79, 200, 399);

  @TempDir private Path folder;
  private final Random random = new Random(35);

  private byte[] written(WriterVersion version, CompressionCodecName codec, boolean dictionary)
      throws IOException {
    Path path = folder.resolve("whole.parquet");
    SimpleGroupFactory groups = new SimpleGroupFactory(SCHEMA);
    try (ParquetWriter<Group> writer =
        ExampleParquetWriter.builder(new LocalOutputFile(path))
            .withType(SCHEMA)
            .withExtraMetaData(Map.of("iceberg.schema", SchemaParser.toJson(new Schema(COLUMNS))))
            .withWriterVersion(version)
            .withCompressionCodec(codec)
            .withDictionaryEncoding(dictionary)
            .withPageRowCountLimit(70)
            .withMinRowCountForPageSizeCheck(10)
            .withRowGroupRowCountLimit(250)
            .build()) {
      for (int i = 0; i < ROWS; i++) {
        Group row = groups.newGroup().append("k", i * 7L);
        if (i % 5 != 0) {
          row.append("t", "text " + i % 23).append("d", i % 40 / 3.0);
          row.append("b", "bytes " + i % 9);
        }
        Group list = row.addGroup("l");
        for (int j = 0; j < i % 4; j++) {
          list.addGroup("list").append("element", i % 19 + j);
        }
        writer.write(row);
      }
    }
    byte[] bytes = Files.readAllBytes(path);
    Files.delete(path);
    return bytes;
  }

  /** Where the pages end: behind them are indexes and the footer. */
  private long endOfPages(byte[] bytes) throws IOException {
    Path path = folder.resolve("footer.parquet");
    Files.write(path, bytes);
    try (ParquetFileReader file = ParquetFileReader.open(new LocalInputFile(path))) {
      return file.getRowGroups().stream()
          .map(BlockMetaData::getColumns)
          .flatMap(List::stream)
          .mapToLong(chunk -> chunk.getStartingPos() + chunk.getTotalSize())
          .max()
          .orElseThrow();
    }
  }

  private List<String> read(Path path, @Nullable RoaringBitmap shown) throws IOException {
    StoredFile file = new StoredFile(path.toUri().toString(), Files.size(path), ROWS, List.of());
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            FileColumns.of(COLUMNS, null, Set.of()), RowChoice.ALL, 64, 1 << 20);
    DataFiles files = new DataFiles(IO, new ReadCounters());
    List<String> rows = new ArrayList<>();
    try (StoredFileReader reader = new StoredFileReader(files, file, reading, shown, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        for (int i = 0; i < batch.numRows(); i++) {
          StringBuilder row = new StringBuilder();
          for (int c = 0; c < batch.numCols(); c++) {
            row.append(value(batch.column(c), i)).append(' ');
          }
          rows.add(row.toString());
        }
      }
    }
    return rows;
  }

  private static @Nullable String value(ColumnVector column, int row) {
    if (column.isNullAt(row)) {
      return null;
    }
    return switch (column.dataType().sql()) {
      case "BIGINT" -> Long.toString(column.getLong(row));
      case "DOUBLE" -> Double.toString(column.getDouble(row));
      case "BINARY" -> new String(column.getBinary(row));
      case "STRING" -> column.getUTF8String(row).toString();
      default -> {
        ColumnarArray list = column.getArray(row);
        StringBuilder values = new StringBuilder();
        for (int i = 0; i < list.numElements(); i++) {
          values.append(list.isNullAt(i) ? "null" : list.getInt(i)).append(',');
        }
        yield values.toString();
      }
    };
  }

  /** What is read of a file: its rows, or the error. */
  private Object outcome(Path path, @Nullable RoaringBitmap shown) {
    try {
      return read(path, shown);
    } catch (Exception e) {
      return e;
    }
  }

  @ParameterizedTest
  @CsvSource({
    // version, codec, dictionary, bytes from one flip to the next
    "PARQUET_1_0, ZSTD,         true,  400",
    "PARQUET_1_0, ZSTD,         false, 400",
    "PARQUET_1_0, UNCOMPRESSED, true,  400",
    "PARQUET_1_0, UNCOMPRESSED, false, 400",
    "PARQUET_1_0, SNAPPY,       true,  400",
    "PARQUET_2_0, ZSTD,         true,  400",
  })
  void noFlippedBitIsReadAsRows(
      WriterVersion version, CompressionCodecName codec, boolean dictionary, int step)
      throws IOException {
    byte[] whole = written(version, codec, dictionary);
    long pages = endOfPages(whole);
    Path path = folder.resolve("whole.parquet");
    Files.write(path, whole);
    List<String> all = read(path, null);
    List<String> some = read(path, SOME);
    assertEquals(ROWS, all.size());
    assertEquals(List.of(all.get(3), all.get(77)), some.subList(0, 2));
    List<String> wrong = new ArrayList<>();
    int found = 0;
    int flips = 0;
    for (int at = 4 + random.nextInt(step); at < whole.length; at += step) {
      int bit = random.nextInt(Byte.SIZE);
      byte[] damaged = whole.clone();
      damaged[at] ^= (byte) (1 << bit);
      Path other = folder.resolve("%s-%d-%d.parquet".formatted(codec, at, bit));
      Files.write(other, damaged);
      Object ofAll = outcome(other, null);
      Object ofSome = outcome(other, SOME);
      Files.delete(other);
      String where = (at < pages ? "page" : "footer") + " byte " + at + " bit " + bit + ": ";
      for (Object each : List.of(ofAll, ofSome)) {
        if (each instanceof Exception e) {
          if (!(e instanceof KeylakeException told)
              || told.kind() != KeylakeException.Kind.STORE_FAILED
              || !e.getMessage().contains(other.getFileName().toString())) {
            wrong.add(where + e);
          }
        } else if (!each.equals(each == ofAll ? all : some)) {
          wrong.add(where + "other rows");
        }
      }
      if (at < pages) {
        flips++;
        found += ofAll instanceof Exception ? 1 : 0;
      }
    }
    assertTrue(wrong.isEmpty(), String.join("\n", wrong));
    assertTrue(found >= 0.9 * flips, found + " of " + flips + " flips in pages were found");
  }
}
