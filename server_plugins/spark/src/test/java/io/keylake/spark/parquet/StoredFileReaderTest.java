package io.keylake.spark.parquet;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.inmemory.InMemoryFileIO;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.junit.jupiter.api.Test;

class StoredFileReaderTest {
  private static final NestedField COLUMN = NestedField.required(1, "k", Types.LongType.get());
  private static final String PLACE = "memory/file.parquet";

  /** Knows how many files are open. */
  private static final class CountingIo extends InMemoryFileIO {
    private int open;

    @Override
    public InputFile newInputFile(String location, long length) {
      InputFile file = super.newInputFile(location);
      return new InputFile() {
        @Override
        public long getLength() {
          return file.getLength();
        }

        @Override
        public SeekableInputStream newStream() {
          open++;
          return counted(file.newStream());
        }

        @Override
        public String location() {
          return location;
        }

        @Override
        public boolean exists() {
          return true;
        }
      };
    }

    private SeekableInputStream counted(SeekableInputStream stream) {
      return new SeekableInputStream() {
        private boolean isClosed;

        @Override
        public long getPos() throws IOException {
          return stream.getPos();
        }

        @Override
        public void seek(long position) throws IOException {
          stream.seek(position);
        }

        @Override
        public int read() throws IOException {
          return stream.read();
        }

        @Override
        public int read(byte[] into, int offset, int length) throws IOException {
          return stream.read(into, offset, length);
        }

        @Override
        public void close() throws IOException {
          open -= isClosed ? 0 : 1;
          isClosed = true;
          stream.close();
        }
      };
    }
  }

  private static StoredFile written(CountingIo io) throws IOException {
    Schema schema = new Schema(COLUMN);
    FileAppender<InternalRow> file =
        Parquet.write(io.newOutputFile(PLACE))
            .schema(schema)
            .createWriterFunc(
                (expected, parquet) ->
                    SparkParquetWriters.buildWriter(
                        expected, parquet, SparkSchemaUtil.convert(schema)))
            .overwrite()
            .build();
    for (long k = 0; k < 100; k++) {
      file.add(new GenericInternalRow(new Object[] {k}));
    }
    file.close();
    return new StoredFile(PLACE, file.length(), 100, List.of());
  }

  private static StoredFileReader open(CountingIo io, StoredFile file, int batchRows)
      throws IOException {
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(FileColumns.of(COLUMN), RowChoice.ALL, batchRows, 1 << 20);
    return new StoredFileReader(new DataFiles(io, new ReadCounters()), file, reading, null, null);
  }

  @Test
  void aReaderHasItsFileOpenUntilItIsClosed() throws IOException {
    CountingIo io = new CountingIo();
    try (StoredFileReader reader = open(io, written(io), 64)) {
      assertEquals(64, reader.next().numRows());
      assertEquals(1, io.open);
    }
    assertEquals(0, io.open);
  }

  @Test
  void aReaderWithoutRoomForABatchLeavesNoFileOpen() throws IOException {
    CountingIo io = new CountingIo();
    StoredFile file = written(io);
    assertThrows(Throwable.class, () -> open(io, file, Integer.MAX_VALUE));
    assertEquals(0, io.open);
  }
}
