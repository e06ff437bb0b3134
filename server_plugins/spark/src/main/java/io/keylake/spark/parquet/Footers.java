package io.keylake.spark.parquet;

import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.tables.FileDamage;
import io.keylake.tables.kept.Kept;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.parquet.ParquetReadOptions;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.parquet.schema.MessageType;

/**
 * Footers of data files, kept by the process: tasks of one query, and queries one after the other,
 * open the same files.
 *
 * <p>A writer of Iceberg gives each file a name of its own and never changes it. A file of this
 * machine that somebody has put in the place of another is told by its time. Of a store it is not,
 * since asking for the time takes as long as reading the footer.
 *
 * <p>Files of one schema share it. What writers have noted beside it, such as the schema of the
 * table as text, is of no use to readers, and left out.
 */
final class Footers {
  private static final int SHARE_OF_HEAP = 32;
  private static final int SHARE_OF_HEAP_FOR_SCHEMAS = 256;
  private static final int BYTES_OF_CHUNK = 500;
  private static final int BYTES_OF_FILE = 500;
  private static final int BYTES_OF_COLUMN = 700;

  private static final Kept<Place, ParquetMetadata> FOOTERS =
      Kept.ofHeap(SHARE_OF_HEAP, (place, footer) -> place.location().length() + bytes(footer));
  private static final Kept<MessageType, MessageType> SCHEMAS =
      Kept.ofHeap(
          SHARE_OF_HEAP_FOR_SCHEMAS,
          (schema, same) -> (long) BYTES_OF_COLUMN * schema.getPaths().size());

  private Footers() {}

  /**
   * @param changed in milliseconds; 0 where that is not known
   */
  private record Place(String location, long bytes, long changed) {
    static Place of(StoredFile file) {
      URI uri = new Path(file.location()).toUri();
      boolean isHere = uri.getScheme() == null || uri.getScheme().equals("file");
      long changed = isHere ? new File(uri.getPath()).lastModified() : 0;
      return new Place(file.location(), file.bytes(), changed);
    }
  }

  /**
   * @param stream to read the footer from, where it is not kept
   */
  static ParquetMetadata of(
      StoredFile file, IcebergInput input, ParquetReadOptions options, SeekableInputStream stream)
      throws IOException {
    return FOOTERS.get(Place.of(file), () -> shared(checked(file, input, options, stream)));
  }

  private static ParquetMetadata checked(
      StoredFile file, IcebergInput input, ParquetReadOptions options, SeekableInputStream stream)
      throws IOException {
    ParquetMetadata footer;
    try {
      footer = ParquetFileReader.readFooter(input, options, stream);
    } catch (IOException | RuntimeException e) {
      if (FileDamage.isShownBy(e)) {
        throw FileDamage.of("its footer", e);
      }
      throw e;
    }
    CheckedFooter.check(footer, file.rows(), file.bytes());
    return footer;
  }

  private static ParquetMetadata shared(ParquetMetadata footer) throws IOException {
    FileMetaData file = footer.getFileMetaData();
    MessageType schema =
        SCHEMAS.get(
            file.getSchema(),
            () -> {
              CheckedFooter.checkColumns(file);
              return file.getSchema();
            });
    return new ParquetMetadata(
        new FileMetaData(schema, Map.of(), file.getCreatedBy()), footer.getBlocks());
  }

  private static long bytes(ParquetMetadata footer) {
    return BYTES_OF_FILE
        + footer.getBlocks().stream()
            .flatMap(rowGroup -> rowGroup.getColumns().stream())
            .mapToLong(Footers::bytes)
            .sum();
  }

  /** The least and the greatest value may be long texts. */
  private static long bytes(ColumnChunkMetaData chunk) {
    Statistics<?> values = chunk.getStatistics();
    return BYTES_OF_CHUNK
        + (values != null && values.hasNonNullValue()
            ? values.getMinBytes().length + values.getMaxBytes().length
            : 0);
  }
}
