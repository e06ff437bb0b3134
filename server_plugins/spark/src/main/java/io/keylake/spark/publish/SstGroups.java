package io.keylake.spark.publish;

import java.io.File;
import java.io.IOException;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.json.JSONOptions;
import org.apache.spark.sql.catalyst.json.JacksonGenerator;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.rocksdb.CompressionType;
import org.rocksdb.EnvOptions;
import org.rocksdb.Options;
import org.rocksdb.RocksDB;
import org.rocksdb.RocksDBException;
import org.rocksdb.SstFileWriter;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Table files of RocksDB, for its {@code IngestExternalFile}. A key is what {@link KeyBytes} makes
 * of it; its value is a JSON object of the value columns in UTF-8, nulls included, with times in
 * ISO form and in UTC, and binary in base64. A deleted key is a deletion.
 */
final class SstGroups implements GroupWriters {
  private static final Map<String, String> JSON =
      Map.of(
          "ignoreNullFields", "false",
          "timestampFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
          "timestampNTZFormat", "yyyy-MM-dd'T'HH:mm:ss.SSSSSS");

  private final KeyBytes keys;
  private final StructField[] values;
  private final int valuesAt;
  private final Object[] cells;
  private final InternalRow shown;
  private final StringWriter text = new StringWriter();
  private final JacksonGenerator json;

  SstGroups(PublishedSchema schema) {
    RocksDB.loadLibrary();
    StructType type = schema.sparkValues();
    this.keys = new KeyBytes(schema.key());
    this.values = type.fields();
    this.valuesAt = schema.key().size();
    this.cells = new Object[values.length];
    this.shown = new GenericInternalRow(cells);
    JSONOptions options =
        new JSONOptions(
            scala.collection.immutable.Map.from(CollectionConverters.asScala(JSON)), "UTC", "");
    this.json = new JacksonGenerator(type, text, options);
  }

  private byte[] value(InternalRow row) {
    for (int i = 0; i < cells.length; i++) {
      int at = valuesAt + i;
      cells[i] = row.isNullAt(at) ? null : row.get(at, values[i].dataType());
    }
    text.getBuffer().setLength(0);
    json.write(shown);
    json.flush();
    return text.toString().strip().getBytes(StandardCharsets.UTF_8);
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
