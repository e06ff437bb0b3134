package io.keylake.spark.engine;

import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.DelegatingSeekableInputStream;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.SpecificParquetRecordReaderBase;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import scala.Option;

/**
 * Spark's vectorised decoder, fed with the pages that we choose: of which rows, in which portions,
 * and unpacked by which codec. Spark's own way of feeding it opens whole row groups.
 *
 * <p>What it finds out about the columns of a file, by way of a configuration of Hadoop and schemas
 * as JSON, is the same for all files of one schema: a decoder is made like another one.
 *
 * <p>The decoder takes its pages through an interface that Spark keeps to itself, so the field that
 * holds it is set by reflection, and so is what it knows of missing columns. Everything else is
 * public.
 */
public final class RowGroupDecoder extends VectorizedParquetRecordReader {
  private static final Field READER = field(SpecificParquetRecordReaderBase.class, "reader");
  private static final Field MISSING = field(VectorizedParquetRecordReader.class, "missingColumns");

  /** The source of the pages. */
  public interface Pages {
    /** Pages of the next rows; asked only as often as there are rows left. */
    PageReadStore next() throws IOException;
  }

  private RowGroupDecoder(int batchRows) {
    super(null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, batchRows);
  }

  private static Field field(Class<?> type, String name) {
    try {
      Field field = type.getDeclaredField(name);
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(
          "this version of Spark reads Parquet in another way than Spark 4.1, which keylake is made for",
          e);
    }
  }

  /**
   * One that decodes nothing itself, and that others are made like.
   *
   * @param footer of a file of their schema
   * @param columns to be read, under the names that the file has for them
   */
  public static RowGroupDecoder of(ParquetMetadata footer, StructType columns) throws IOException {
    Configuration conf = configuration(columns);
    Path name = new Path("file:///file"); // it wants to be told of one
    HadoopInputFile file =
        HadoopInputFile.fromStatus(new FileStatus(1, false, 1, 1, 0, name), conf);
    RowGroupDecoder decoder = new RowGroupDecoder(1);
    try {
      decoder.initialize(
          new FileSplit(name, 0, 1, new String[0]),
          new TaskAttemptContextImpl(conf, new TaskAttemptID()),
          Option.apply(file),
          Option.apply(new Unread()),
          Option.apply(footer));
      READER.set(decoder, null);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while opening a file", e);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
    return decoder;
  }

  /** One for another file of the same schema, and of the same writer. */
  public RowGroupDecoder like(int batchRows) {
    RowGroupDecoder decoder = new RowGroupDecoder(batchRows);
    decoder.file = file;
    decoder.fileSchema = fileSchema;
    decoder.requestedSchema = requestedSchema;
    decoder.sparkSchema = sparkSchema;
    decoder.sparkRequestedSchema = sparkRequestedSchema;
    decoder.writerVersion = writerVersion;
    decoder.parquetColumn = parquetColumn;
    decoder.configuration = configuration;
    try {
      MISSING.set(decoder, MISSING.get(this));
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
    return decoder;
  }

  /** The decoder finds columns by the ids that the schema has for them. */
  private static Configuration configuration(StructType columns) {
    Configuration conf = new Configuration(false);
    conf.set(ParquetInputFormat.READ_SUPPORT_CLASS, ParquetReadSupport.class.getName());
    conf.set("org.apache.spark.sql.parquet.row.requested_schema", columns.json());
    conf.setBoolean(SQLConf.PARQUET_FIELD_ID_READ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.IGNORE_MISSING_PARQUET_FIELD_ID().key(), true);
    conf.setBoolean(SQLConf.CASE_SENSITIVE().key(), true);
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG().key(), false);
    return conf;
  }

  /** A stream in place of a file whose footer is all that is wanted. */
  private static final class Unread extends DelegatingSeekableInputStream {
    Unread() {
      super(InputStream.nullInputStream());
    }

    @Override
    public long getPos() {
      return 0;
    }

    @Override
    public void seek(long position) {
      throw new UnsupportedOperationException();
    }
  }

  /** The columns that are read, as the file has them. */
  public MessageType columns() {
    return requestedSchema;
  }

  /**
   * Gives the decoder its pages; it is called once.
   *
   * @param rows how many rows the pages have in all
   */
  public void feed(Pages pages, long rows) {
    totalRowCount = rows;
    Class<?> type = READER.getType();
    Object source =
        Proxy.newProxyInstance(
            type.getClassLoader(),
            new Class<?>[] {type},
            (self, method, arguments) ->
                method.getName().equals("readNextRowGroup") ? pages.next() : null);
    try {
      READER.set(this, source);
    } catch (IllegalAccessException e) {
      throw new IllegalStateException(e);
    }
  }
}
