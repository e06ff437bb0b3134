package io.keylake.spark.engine;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import org.apache.hadoop.conf.Configuration;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.SpecificParquetRecordReaderBase;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.execution.vectorized.WritableColumnVector;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;

/**
 * Spark's vectorised decoder, fed with the pages that we choose: of which rows, in which portions,
 * and unpacked by which codec. Spark's own way of feeding it opens whole row groups.
 *
 * <p>The decoder takes its pages through an interface that Spark keeps to itself, so the one field
 * that holds it is set by reflection. Everything else is public.
 */
public final class RowGroupDecoder extends VectorizedParquetRecordReader {
  private static final Field READER = readerField();

  /** Where the pages come from. */
  public interface Pages {
    /** Pages of the next rows; asked only as often as there are rows left. */
    PageReadStore next() throws IOException;
  }

  public RowGroupDecoder(int batchRows) {
    super(null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, batchRows);
  }

  private static Field readerField() {
    try {
      Field field = SpecificParquetRecordReaderBase.class.getDeclaredField("reader");
      field.setAccessible(true);
      return field;
    } catch (NoSuchFieldException e) {
      throw new IllegalStateException(
          "this version of Spark reads Parquet in another way than Spark 4.1, which keylake is made for",
          e);
    }
  }

  /**
   * What the decoder is initialized with: it finds columns by the ids that the schema has for them.
   */
  public static Configuration configuration(StructType columns) {
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

  /** The columns that are read, as the file has them. */
  public MessageType columns() {
    return requestedSchema;
  }

  /**
   * To be called once, after {@code initialize}.
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

  /** The numbers of dictionary entries by which a decoded column holds its values, if it does. */
  public static final class EntryNumbers {
    private final WritableColumnVector decoded;

    private EntryNumbers(WritableColumnVector decoded) {
      this.decoded = decoded;
    }

    /**
     * @param decoded a column of this decoder
     */
    public static EntryNumbers of(ColumnVector decoded) {
      return new EntryNumbers((WritableColumnVector) decoded);
    }

    /** Whether the current batch has a dictionary. */
    public boolean exist() {
      return decoded.hasDictionary();
    }

    /** The number of a row whose value is not null, in a batch with a dictionary. */
    public int at(int row) {
      return decoded.getDictionaryIds().getDictId(row);
    }
  }
}
