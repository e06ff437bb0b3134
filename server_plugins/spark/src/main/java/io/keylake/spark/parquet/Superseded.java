package io.keylake.spark.parquet;

import io.keylake.tables.FileDamage;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Loads which rows of a file have to be left out. A deletion vector is a bitmap as it is; a file of
 * positions, which speaks of one data file only, is read as one column of numbers.
 */
final class Superseded {
  private Superseded() {}

  /** The positions, or null for none. */
  static @Nullable RoaringBitmap of(DataFiles files, FileIO io, StoredFile file)
      throws IOException {
    if (file.superseded().isEmpty()) {
      return null;
    }
    RoaringBitmap rows = new RoaringBitmap();
    for (DeleteFile deletes : file.superseded()) {
      if (deletes.format() == FileFormat.PUFFIN) {
        addVector(io, file, deletes, rows);
      } else {
        addPositions(files, deletes, rows);
      }
    }
    return rows;
  }

  private static void addVector(
      FileIO io, StoredFile file, DeleteFile deletes, RoaringBitmap rows) {
    try {
      new BaseDeleteLoader(io::newInputFile)
          .loadPositionDeletes(List.of(deletes), file.location())
          .forEach(row -> rows.add((int) row));
    } catch (RuntimeException e) {
      throw StoreFailure.reading(
          deletes.location(),
          FileDamage.isShownBy(e) ? FileDamage.of("its deletion vector", e) : e);
    }
  }

  private static void addPositions(DataFiles files, DeleteFile deletes, RoaringBitmap rows)
      throws IOException {
    StoredFile stored =
        new StoredFile(
            deletes.location(), deletes.fileSizeInBytes(), deletes.recordCount(), List.of());
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            FileColumns.of(MetadataColumns.DELETE_FILE_POS),
            new RowChoice(FileFilter.NONE, null, 0),
            DataFiles.BATCH_ROWS,
            DataFiles.bytesEach(1));
    try (StoredFileReader reader = new StoredFileReader(files, stored, reading, null, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        ColumnVector positions = batch.column(0);
        for (int i = 0; i < batch.numRows(); i++) {
          rows.add((int) positions.getLong(i));
        }
      }
    }
  }
}
