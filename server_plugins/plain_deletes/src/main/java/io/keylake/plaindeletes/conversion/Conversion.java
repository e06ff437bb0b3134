package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.DeleteGroup;
import io.keylake.plaindeletes.index.DeleteIndex;
import io.keylake.plaindeletes.index.PlannedFile;
import io.keylake.plaindeletes.index.StoredDeletes;
import io.keylake.plaindeletes.index.StructKeys;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.storage.MemoryBudget;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.Serializable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BooleanSupplier;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.data.IdentityPartitionConverters;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.PartitionUtil;

/**
 * Converts the equality deletes of a portion: loads the newest delete of each key, reads nothing
 * but keys of the data files, and writes the positions of the rows that are deleted. Data files of
 * which no row is left are to be removed.
 *
 * @param files with their position deletes
 */
public record Conversion(List<DeleteGroup> groups, List<FileScanTask> files)
    implements Serializable {
  private static final int ROWS_BETWEEN_LOOKS = 1 << 16;

  static Conversion of(Portion portion) {
    return new Conversion(
        portion.groups(), portion.files().stream().map(PlannedFile::task).toList());
  }

  /** The place where it runs. */
  public interface Place {
    /** Gives names to new files of a format. */
    OutputFileFactory names(FileFormat format);

    MemoryBudget memory();

    /** An empty directory on the local disk, for deletes that do not fit into memory. */
    Path directory();

    boolean isCancelled();
  }

  public Converted run(Table table, Place place) throws IOException {
    EncryptingFileIO io = EncryptingFileIO.combine(table.io(), table.encryption());
    PositionFiles positions = new PositionFiles(table, place::names);
    List<DeleteIndex> indexes = new ArrayList<>();
    try {
      for (DeleteGroup group : groups) {
        Path own = place.directory().resolve(String.valueOf(indexes.size()));
        Files.createDirectory(own);
        StoredDeletes stored = new StoredDeletes(io::newInputFile);
        indexes.add(DeleteIndex.load(group, stored, place.memory(), own));
      }
      for (FileScanTask file : files) {
        find(io, file, indexes, positions.of(file), place::isCancelled);
      }
      return positions.written();
    } finally {
      indexes.forEach(DeleteIndex::close);
    }
  }

  /** Adds the rows of a data file that the indexes delete, and no position does yet. */
  private void find(
      EncryptingFileIO io,
      FileScanTask task,
      List<DeleteIndex> indexes,
      PositionFiles.OfFile positions,
      BooleanSupplier isCancelled)
      throws IOException {
    DataFile file = task.file();
    Set<NestedField> fields = new LinkedHashSet<>();
    groups.forEach(group -> fields.addAll(group.fields()));
    fields.add(MetadataColumns.ROW_POSITION);
    List<NestedField> columns = List.copyOf(fields);
    Schema schema = new Schema(columns);
    List<StructKeys> keys = groups.stream().map(each -> new StructKeys(each, columns)).toList();
    InternalRecordWrapper internal = new InternalRecordWrapper(schema.asStruct());
    try (CloseableIterable<Record> rows =
        FormatModelRegistry.<Record, Object>readBuilder(
                file.format(), Record.class, io.newInputFile(file))
            .project(schema)
            .idToConstant(
                PartitionUtil.constantsMap(task, IdentityPartitionConverters::convertConstant))
            .reuseContainers()
            .build()) {
      long seen = 0;
      boolean isLeft = false;
      for (Record row : rows) {
        if (++seen % ROWS_BETWEEN_LOOKS == 0 && isCancelled.getAsBoolean()) {
          throw new InterruptedIOException("the conversion of deletes was cancelled");
        }
        internal.wrap(row);
        long position = row.get(columns.size() - 1, Long.class);
        boolean isDeleted = false;
        for (int i = 0; i < indexes.size() && !isDeleted; i++) {
          isDeleted = indexes.get(i).deletes(keys.get(i).of(internal), file.dataSequenceNumber());
        }
        if (isDeleted && !positions.has(position)) {
          positions.add(position);
        }
        isLeft = isLeft || !(isDeleted || positions.has(position));
      }
      if (isLeft || seen != file.recordCount()) {
        positions.keep();
      } else {
        positions.remove();
      }
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.readingPlain(file.location(), e);
    }
  }
}
