package io.keylake.spark.publish;

import io.keylake.spark.engine.RowJson;
import io.keylake.spark.keys.KeyBytes;
import java.io.File;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.rocksdb.CompressionType;
import org.rocksdb.EnvOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileWriter;

/**
 * Table files of RocksDB, for its {@code IngestExternalFile}. A key is what {@link KeyBytes} makes
 * of it; its value is the JSON of the value columns. A deleted key is a deletion.
 */
final class SstGroups implements GroupWriters {
  private final KeyBytes keys;
  private final StructField[] values;
  private final int valuesAt;
  private final Object[] cells;
  private final InternalRow shown;
  private final RowJson json;

  SstGroups(PublishedSchema schema) {
    RocksDB.loadLibrary();
    StructType type = schema.sparkValues();
    this.keys = new KeyBytes(schema.key());
    this.values = type.fields();
    this.valuesAt = schema.key().size();
    this.cells = new Object[values.length];
    this.shown = new GenericInternalRow(cells);
    this.json = new RowJson(type);
  }

  private byte[] value(InternalRow row) {
    for (int i = 0; i < cells.length; i++) {
      int at = valuesAt + i;
      cells[i] = row.isNullAt(at) ? null : row.get(at, values[i].dataType());
    }
    return json.of(shown);
  }

  @Override
  public GroupWriter open(File file, int group) throws IOException {
    return new Writer(file);
  }

  private final class Writer implements GroupWriter {
    private final EnvOptions environment = new EnvOptions();
    private final Options options =
        new Options().setCompressionType(CompressionType.LZ4_COMPRESSION);
    private final SstFileWriter file = new SstFileWriter(environment, options);

    Writer(File file) throws IOException {
      try {
        this.file.open(file.getPath());
      } catch (RocksDBException e) {
        throw new IOException("RocksDB cannot write " + file, e);
      }
    }

    @Override
    public void write(InternalRow row, boolean isDeleted) throws IOException {
      try {
        if (isDeleted) {
          file.delete(keys.of(row));
        } else {
          file.put(keys.of(row), value(row));
        }
      } catch (RocksDBException e) {
        throw new IOException("RocksDB does not take a row", e);
      }
    }

    @Override
    public void close() throws IOException {
      try {
        file.finish();
      } catch (RocksDBException e) {
        throw new IOException("RocksDB cannot finish a file", e);
      } finally {
        file.close();
        options.close();
        environment.close();
      }
    }
  }
}
