package io.keylake.spark.parquet;

import io.keylake.spark.engine.RowGroupDecoder;
import io.keylake.tables.kept.Kept;
import java.io.IOException;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.apache.spark.sql.types.StructType;

/** Decoders of files, made like those of other files with the same schema. */
final class Decoders {
  private static final int SHARE_OF_HEAP = 128;
  private static final int BYTES_OF_COLUMN = 3000;

  private static final Kept<Shape, RowGroupDecoder> FIRST =
      Kept.ofHeap(
          SHARE_OF_HEAP,
          (shape, decoder) -> (long) BYTES_OF_COLUMN * (1 + decoder.columns().getPaths().size()));

  private Decoders() {}

  private record Shape(MessageType file, String writer, StructType columns) {}

  static RowGroupDecoder of(ParquetMetadata footer, FileColumns columns, int batchRows)
      throws IOException {
    FileMetaData file = footer.getFileMetaData();
    Shape shape = new Shape(file.getSchema(), file.getCreatedBy(), columns.schema());
    return FIRST
        .get(shape, () -> RowGroupDecoder.of(footer, columns.in(file.getSchema())))
        .like(batchRows);
  }
}
