package io.keylake.spark.parquet;

import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.spark.integrity.CheckedVector;
import io.keylake.tables.FileDamage;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.InputStream;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * Loads which rows of a file have to be left out. A deletion vector is a bitmap as it is; a file of
 * positions, which speaks of one data file only, is read as one column of numbers.
 */
final class Superseded {
  private static final int MOST_BYTES_AT_ONCE = 1 << 16;

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
        addPositions(files, file, deletes, rows);
      }
    }
    return rows;
  }

  private static void addVector(
      FileIO io, StoredFile file, DeleteFile deletes, RoaringBitmap rows) {
    try {
      InputFile vectors = input(io, deletes);
      Long begin = deletes.contentOffset();
      if (begin != null) {
        CheckedVector.check(vectors, deletes.fileSizeInBytes(), begin, file.location());
      }
      new BaseDeleteLoader(deleteFile -> vectors)
          .loadPositionDeletes(List.of(deletes), file.location())
          .forEach(row -> rows.add((int) row));
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.reading(
          deletes.location(),
          FileDamage.isShownBy(e) ? FileDamage.of("its deletion vector", e) : e);
    }
  }

  /** A small file is read at once, in one request: its footer and its vector are needed. */
  private static InputFile input(FileIO io, DeleteFile deletes) throws IOException {
    InputFile file = io.newInputFile(deletes.location(), deletes.fileSizeInBytes());
    if (deletes.fileSizeInBytes() > MOST_BYTES_AT_ONCE) {
      return file;
    }
    try (InputStream bytes = file.newStream()) {
      return new InMemoryInputFile(deletes.location(), bytes.readAllBytes());
    }
  }

  private static void addPositions(
      DataFiles files, StoredFile of, DeleteFile deletes, RoaringBitmap rows) throws IOException {
    StoredFile stored =
        new StoredFile(
            deletes.location(), deletes.fileSizeInBytes(), deletes.recordCount(), List.of());
    try {
      CheckedFooter.checkPositions(files.footer(stored), of.location());
    } catch (FileDamage e) {
      throw StoreFailure.reading(deletes.location(), e);
    }
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            FileColumns.of(MetadataColumns.DELETE_FILE_POS),
            RowChoice.ALL,
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
