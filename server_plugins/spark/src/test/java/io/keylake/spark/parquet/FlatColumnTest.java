package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ParquetProperties.WriterVersion;
import org.apache.parquet.example.data.Group;
import org.apache.parquet.example.data.simple.SimpleGroupFactory;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.example.ExampleParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.parquet.io.LocalOutputFile;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.MessageTypeParser;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.roaringbitmap.RoaringBitmap;

class FlatColumnTest {
  private static final NestedField KEY = NestedField.required(1, "k", Types.LongType.get());
  private static final NestedField TEXT = NestedField.optional(2, "t", Types.StringType.get());
  private static final NestedField NAME = NestedField.required(3, "n", Types.StringType.get());
  private static final MessageType SCHEMA =
      MessageTypeParser.parseMessageType(
          "message m { required int64 k = 1; optional binary t (UTF8) = 2; "
              + "required binary n (UTF8) = 3; optional int32 i = 4; optional int64 l = 5; "
              + "optional float f = 6; optional double d = 7; "
              + "optional int64 at (TIMESTAMP(MICROS,true)) = 8; optional int32 day (DATE) = 9; }");
  private static final List<NestedField> NUMBERS =
      List.of(
          NestedField.optional(4, "i", Types.IntegerType.get()),
          NestedField.optional(5, "l", Types.LongType.get()),
          NestedField.optional(6, "f", Types.FloatType.get()),
          NestedField.optional(7, "d", Types.DoubleType.get()),
          NestedField.optional(8, "at", Types.TimestampType.withZone()),
          NestedField.optional(9, "day", Types.DateType.get()));
  private static final NestedField WIDENED = NestedField.optional(4, "i", Types.LongType.get());
  private static final int ROWS = 5000;

  @TempDir private Path folder;
  private final Random random = new Random(17);

  /** How often a text is null, and how many different ones there are. */
  private String text(double nulls, int different) {
    if (random.nextDouble() < nulls) {
      return null;
    }
    int number = random.nextInt(different);
    return "é".repeat(number % 7) + (number % 5 == 0 ? "" : "-" + number);
  }

  private StoredFile written(List<String[]> rows, ParquetWriter<Group> writer, Path path)
      throws IOException {
    SimpleGroupFactory groups = new SimpleGroupFactory(SCHEMA);
    try (writer) {
      for (int i = 0; i < rows.size(); i++) {
        Group row = groups.newGroup().append("k", (long) i);
        String[] texts = rows.get(i);
        if (texts[0] != null) {
          row.append("t", texts[0]);
        }
        row.append("n", texts[1]);
        if (texts[0] != null) {
          int number = texts[0].hashCode();
          row.append("i", number).append("l", 3L * number).append("f", number / 2f);
          row.append("d", number / 3.0).append("at", 7L * number).append("day", number % 9999);
        }
        writer.write(row);
      }
    }
    return new StoredFile(path.toUri().toString(), Files.size(path), rows.size(), List.of());
  }

  private static ExampleParquetWriter.Builder writer(Path path) {
    return ExampleParquetWriter.builder(new LocalOutputFile(path)).withType(SCHEMA);
  }

  private List<String> read(StoredFile file, List<NestedField> columns, RoaringBitmap shown)
      throws IOException {
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            FileColumns.of(columns, null, Set.of()),
            RowChoice.ALL,
            1 + random.nextInt(700),
            random.nextBoolean() ? 1 << 20 : 2000);
    List<String> read = new ArrayList<>();
    DataFiles files = new DataFiles(new HadoopFileIO(new Configuration()), new ReadCounters());
    try (StoredFileReader reader = new StoredFileReader(files, file, reading, shown, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        long[] positions = new long[batch.numRows()];
        reader.positions(positions);
        for (int i = 0; i < batch.numRows(); i++) {
          StringBuilder row = new StringBuilder().append(positions[i]);
          for (int c = 0; c < batch.numCols(); c++) {
            row.append(' ').append(value(batch.column(c), i));
          }
          read.add(row.toString());
        }
      }
    }
    return read;
  }

  private static String value(ColumnVector column, int row) {
    if (column.isNullAt(row)) {
      return null;
    }
    return switch (column.dataType().sql()) {
      case "BIGINT", "TIMESTAMP" -> Long.toString(column.getLong(row));
      case "INT", "DATE" -> Integer.toString(column.getInt(row));
      case "FLOAT" -> Float.toString(column.getFloat(row));
      case "DOUBLE" -> Double.toString(column.getDouble(row));
      default -> column.getUTF8String(row).toString();
    };
  }

  @ParameterizedTest
  @CsvSource({
    // version, different texts, nulls, dictionary, bytes of a page
    "PARQUET_1_0, 40,     0.0,  true,  1000",
    "PARQUET_1_0, 40,     0.3,  true,  1000",
    "PARQUET_1_0, 100000, 0.3,  true,  800",
    "PARQUET_1_0, 100000, 0.0,  false, 1000",
    "PARQUET_1_0, 100000, 0.97, false, 100000",
    "PARQUET_1_0, 1,      0.5,  true,  100000",
    "PARQUET_1_0, 40,     1.0,  true,  1000",
    "PARQUET_2_0, 40,     0.3,  true,  1000",
    "PARQUET_2_0, 40,     0.0,  true,  1000",
    "PARQUET_2_0, 100000, 0.3,  true,  1000",
  })
  void allAndSomeRowsAreReadAsTheyWereWritten(
      WriterVersion version, int different, double nulls, boolean dictionary, int pageBytes)
      throws IOException {
    List<String[]> rows = new ArrayList<>();
    for (int i = 0; i < ROWS; i++) {
      rows.add(new String[] {text(nulls, different), text(0, different)});
    }
    for (CompressionCodecName codec :
        List.of(CompressionCodecName.UNCOMPRESSED, CompressionCodecName.ZSTD)) {
      Path path = folder.resolve(codec + ".parquet");
      StoredFile file =
          written(
              rows,
              writer(path)
                  .withWriterVersion(version)
                  .withDictionaryEncoding(dictionary)
                  .withPageSize(pageBytes)
                  .withDictionaryPageSize(4000)
                  .withRowGroupSize(60_000L)
                  .withMinRowCountForPageSizeCheck(10)
                  .withCompressionCodec(codec)
                  .build(),
              path);
      RoaringBitmap some = new RoaringBitmap();
      for (int i = 0; i < ROWS; i++) {
        if (i / 100 % 3 != 0 && random.nextInt(4) != 0) {
          some.add(i);
        }
      }
      for (RoaringBitmap shown : new RoaringBitmap[] {null, some, RoaringBitmap.bitmapOf(4321)}) {
        for (List<NestedField> columns :
            List.of(
                List.of(TEXT), List.of(NAME, KEY, TEXT), List.of(KEY), NUMBERS, List.of(WIDENED))) {
          assertEquals(
              String.join("\n", expected(rows, columns, shown)),
              String.join("\n", read(file, columns, shown)));
        }
      }
    }
  }

  private static List<String> expected(
      List<String[]> rows, List<NestedField> columns, RoaringBitmap shown) {
    List<String> expected = new ArrayList<>();
    for (int i = 0; i < rows.size(); i++) {
      if (shown == null || shown.contains(i)) {
        StringBuilder row = new StringBuilder().append(i);
        for (NestedField column : columns) {
          row.append(' ').append(expected(i, rows.get(i), column));
        }
        expected.add(row.toString());
      }
    }
    return expected;
  }

  private static Object expected(int row, String[] texts, NestedField column) {
    if (column == KEY) {
      return row;
    }
    if (column == NAME || texts[0] == null || column == TEXT) {
      return column == NAME ? texts[1] : texts[0];
    }
    int number = texts[0].hashCode();
    return switch (column.name()) {
      case "i" -> number;
      case "l" -> 3L * number;
      case "f" -> number / 2f;
      case "d" -> number / 3.0;
      case "at" -> 7L * number;
      default -> number % 9999;
    };
  }

  @Test
  void aDamagedTextEndsTheReadAndNothingBeyondItsPageIsRead() throws IOException {
    Path path = folder.resolve("damaged.parquet");
    List<String[]> rows = List.of(new String[] {"abcdefgh", "n"}, new String[] {"xyz", "m"});
    StoredFile file =
        written(
            rows,
            writer(path)
                .withDictionaryEncoding(false)
                .withPageWriteChecksumEnabled(false)
                .withCompressionCodec(CompressionCodecName.UNCOMPRESSED)
                .build(),
            path);
    byte[] bytes = Files.readAllBytes(path);
    for (int length : new int[] {-2, Integer.MAX_VALUE, 40}) {
      int at = 0;
      while (bytes[at] != 8 || bytes[at + 4] != 'a' && bytes[at + 7] != 'd') {
        at++;
      }
      byte[] damaged = bytes.clone();
      for (int i = 0; i < Integer.BYTES; i++) {
        damaged[at + i] = (byte) (length >> Byte.SIZE * i);
      }
      Files.write(path, damaged);
      Exception found = assertThrows(Exception.class, () -> read(file, List.of(TEXT), null));
      assertEquals(
          "column t of row group 0 has a text that ends outside its page",
          found.getCause().getMessage(),
          "a length of " + length);
    }
  }
}
