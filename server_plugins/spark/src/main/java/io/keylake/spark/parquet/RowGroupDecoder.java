package io.keylake.spark.parquet;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Proxy;
import org.apache.parquet.column.page.PageReadStore;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.execution.datasources.parquet.SpecificParquetRecordReaderBase;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;

/**
 * Spark's vectorised decoder, fed with the pages that we choose: of which rows, in which portions,
 * and unpacked by which codec. Spark's own way of feeding it opens whole row groups.
 *
 * <p>The decoder takes its pages through an interface that Spark keeps to itself, so the one field
 * that holds it is set by reflection. Everything else is public.
 */
final class RowGroupDecoder extends VectorizedParquetRecordReader {
  private static final Field READER = readerField();

  /** Where the pages come from. */
  interface Pages {
    /** Pages of the next rows; asked only as often as there are rows left. */
    PageReadStore next() throws IOException;
  }

  RowGroupDecoder(int batchRows) {
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

  /** The columns that are read, as the file has them. */
  MessageType columns() {
    return requestedSchema;
  }

  /**
   * To be called once, after {@code initialize}.
   *
   * @param rows how many rows the pages have in all
   */
  void feed(Pages pages, long rows) {
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
