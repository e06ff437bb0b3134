package io.keylake.spark.reducers.user;

import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.function.Consumer;
import org.apache.arrow.memory.BufferAllocator;
import org.apache.arrow.vector.VectorSchemaRoot;
import org.apache.arrow.vector.ipc.ArrowStreamReader;
import org.apache.arrow.vector.ipc.ArrowStreamWriter;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.execution.arrow.ArrowWriter;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.util.ArrowUtils;
import org.apache.spark.sql.vectorized.ArrowColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatchRow;

/** Rows as a stream in the format of Arrow. */
final class ArrowBytes {
  private static final String ZONE = "UTC";

  private ArrowBytes() {}

  static byte[] of(StructType columns, List<InternalRow> rows) {
    ArrowWriter writer = ArrowWriter.create(columns, ZONE, true, false);
    try (VectorSchemaRoot root = writer.root()) {
      rows.forEach(writer::write);
      writer.finish();
      ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      try (ArrowStreamWriter stream = new ArrowStreamWriter(root, null, bytes)) {
        stream.writeBatch();
      }
      return bytes.toByteArray();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /**
   * @param each is given row after row, which is valid until it returns
   */
  static void read(byte[] bytes, Consumer<InternalRow> each) {
    try (BufferAllocator own =
            ArrowUtils.rootAllocator().newChildAllocator("reduced in Python", 0, Long.MAX_VALUE);
        ArrowStreamReader reader = new ArrowStreamReader(new ByteArrayInputStream(bytes), own)) {
      while (reader.loadNextBatch()) {
        VectorSchemaRoot root = reader.getVectorSchemaRoot();
        ColumnarBatchRow row =
            new ColumnarBatchRow(
                root.getFieldVectors().stream()
                    .map(ArrowColumnVector::new)
                    .toArray(ArrowColumnVector[]::new));
        for (row.rowId = 0; row.rowId < root.getRowCount(); row.rowId++) {
          each.accept(row);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
