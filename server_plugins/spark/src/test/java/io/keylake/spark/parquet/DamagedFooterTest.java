package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.columnfilters.WrittenFilters;
import io.keylake.spark.integrity.ChecksummedOutput;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.Schema;
import org.apache.iceberg.hadoop.HadoopFileIO;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.sources.EqualTo;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Footers, indexes of pages and filters of keys with one bit that is not as it was written: no row
 * is left out by a filter that is asked of them.
 */
class DamagedFooterTest {
  private static final List<NestedField> COLUMNS =
      List.of(
          NestedField.required(1, "k", Types.LongType.get()),
          NestedField.optional(2, "t", Types.StringType.get()));
  private static final Schema SCHEMA = new Schema(COLUMNS);
  private static final HadoopFileIO IO = new HadoopFileIO(new Configuration());
  private static final int ROWS = 300;
  private static final int INDEXES_AND_FILTERS = 900; // bytes
  private static final List<Long> WANTED = List.of(0L, 777L, 1001L, (ROWS - 1) * 7L);

  @TempDir private Path folder;

  private byte[] written() throws IOException {
    Path path = folder.resolve("whole.parquet");
    WrittenFilters keys = new WrittenFilters(List.of(COLUMNS.get(0)), List.of(), SCHEMA);
    FileAppender<InternalRow> file =
        Parquet.write(new ChecksummedOutput(IO.newOutputFile(path.toUri().toString()), keys))
            .schema(SCHEMA)
            .set("write.parquet.page-row-limit", "60")
            .set("write.parquet.row-group-check-min-record-count", "10")
            .set("write.parquet.row-group-check-max-record-count", "10")
            .createWriterFunc(
                (expected, parquet) ->
                    SparkParquetWriters.buildWriter(
                        expected, parquet, SparkSchemaUtil.convert(SCHEMA)))
            .build();
    for (long i = 0; i < ROWS; i++) {
      InternalRow row =
          new GenericInternalRow(new Object[] {i * 7, UTF8String.fromString("text " + i)});
      file.add(row);
      keys.add(row);
    }
    file.close();
    byte[] bytes = Files.readAllBytes(path);
    assertEquals(bytes.length, file.length());
    Files.delete(path);
    return bytes;
  }

  /** Which of the wanted rows are found, each by a filter of its own. */
  private List<Long> found(Path path) throws IOException {
    StoredFile file = new StoredFile(path.toUri().toString(), Files.size(path), ROWS, List.of());
    List<Long> found = new ArrayList<>();
    for (long wanted : WANTED) {
      StoredFileReader.Reading reading =
          new StoredFileReader.Reading(
              FileColumns.of(COLUMNS, null, Set.of()),
              new RowChoice(
                  FileFilter.of(List.of(new EqualTo("k", wanted)), COLUMNS), null, 0, true),
              64,
              1 << 20);
      DataFiles files = new DataFiles(IO, new ReadCounters());
      try (StoredFileReader reader = new StoredFileReader(files, file, reading, null, null)) {
        for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
          for (int i = 0; i < batch.numRows(); i++) {
            if (batch.column(0).getLong(i) == wanted
                && batch.column(1).getUTF8String(i).toString().equals("text " + wanted / 7)) {
              found.add(wanted);
            }
          }
        }
      }
    }
    return found;
  }

  @Test
  void noFlippedBitHidesRows() throws IOException {
    byte[] whole = written();
    Path path = folder.resolve("good.parquet");
    Files.write(path, whole);
    assertEquals(WANTED, found(path));
    int footer =
        whole.length
            - 8
            - ByteBuffer.wrap(whole).order(ByteOrder.LITTLE_ENDIAN).getInt(whole.length - 8);
    Random random = new Random(35);
    List<String> wrong = new ArrayList<>();
    int told = 0;
    int[] places =
        IntStream.range(footer - INDEXES_AND_FILTERS, whole.length)
            .filter(at -> at > footer || at % 3 == 0)
            .toArray();
    for (int at : places) {
      byte[] damaged = whole.clone();
      damaged[at] ^= (byte) (1 << random.nextInt(Byte.SIZE));
      Path other = folder.resolve("damaged-%d.parquet".formatted(at));
      Files.write(other, damaged);
      try {
        List<Long> found = found(other);
        if (!found.equals(WANTED)) {
          wrong.add("byte %d of a footer at %d: %s".formatted(at, footer, found));
        }
      } catch (KeylakeException e) {
        told++;
        if (e.kind() != KeylakeException.Kind.STORE_FAILED) {
          wrong.add(e.toString());
        }
      }
      Files.delete(other);
    }
    assertTrue(wrong.isEmpty(), String.join("\n", wrong));
    assertTrue(told >= 0.8 * places.length, told + " of " + places.length + " flips were found");
  }
}
