package io.keylake.plaindeletes.scan;

import io.keylake.plaindeletes.index.DeleteFileRows;
import io.keylake.plaindeletes.index.DeleteGroup;
import io.keylake.plaindeletes.index.StoredDeletes;
import io.keylake.tables.StoreFailure;
import java.io.IOException;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.spark.TaskContext;
import org.apache.spark.TaskKilledException;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** Reads delete files for a task, those in Parquet by Iceberg's vectorised reader. */
final class DeleteRows implements DeleteFileRows {
  private static final int BATCH_ROWS = 4096;
  private static final int ROWS_BETWEEN_LOOKS = 4096;

  private final EncryptingFileIO io;
  private final StoredDeletes anyFormat;
  private final TaskContext task;
  private final DeleteCounters counters;
  private int rows;

  DeleteRows(Table table, TaskContext task, DeleteCounters counters) {
    io = EncryptingFileIO.combine(table.io(), table.encryption());
    anyFormat = new StoredDeletes(io::newInputFile);
    this.task = task;
    this.counters = counters;
  }

  @Override
  public void read(DeleteGroup group, DeleteFile file, Sink into) throws IOException {
    counters.filesLoaded++;
    counters.bytesLoaded += file.fileSizeInBytes();
    Sink unlessKilled =
        key -> {
          if (rows++ % ROWS_BETWEEN_LOOKS == 0 && task.isInterrupted()) {
            throw new TaskKilledException("while loading equality deletes");
          }
          into.add(key);
        };
    if (file.format() == FileFormat.PARQUET) {
      readBatches(group, file, unlessKilled);
    } else {
      anyFormat.read(group, file, unlessKilled);
    }
  }

  private void readBatches(DeleteGroup group, DeleteFile file, Sink into) throws IOException {
    RowKeys keys = new RowKeys(group, IntStream.range(0, group.fields().size()).toArray());
    try (CloseableIterable<ColumnarBatch> batches =
        FormatModelRegistry.<ColumnarBatch, Object>readBuilder(
                FileFormat.PARQUET, ColumnarBatch.class, io.newInputFile(file))
            .project(group.schema())
            .idToConstant(Map.of())
            .recordsPerBatch(BATCH_ROWS)
            .reuseContainers()
            .build()) {
      for (ColumnarBatch batch : batches) {
        for (int row = 0; row < batch.numRows(); row++) {
          into.add(keys.of(batch.getRow(row)));
        }
      }
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.readingPlain(file.location(), e);
    }
  }
}
