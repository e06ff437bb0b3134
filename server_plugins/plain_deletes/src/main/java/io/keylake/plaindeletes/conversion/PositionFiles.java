package io.keylake.plaindeletes.conversion;

import io.keylake.tables.StoreFailure;
import io.keylake.tables.storage.DeletionVectors;
import java.io.IOException;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.data.BaseDeleteLoader;
import org.apache.iceberg.data.DeleteLoader;
import org.apache.iceberg.data.GenericFileWriterFactory;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.deletes.BaseDVFileWriter;
import org.apache.iceberg.deletes.DVFileWriter;
import org.apache.iceberg.deletes.DeleteGranularity;
import org.apache.iceberg.deletes.PositionDelete;
import org.apache.iceberg.deletes.PositionDeleteIndex;
import org.apache.iceberg.deletes.PositionDeleteIndexUtil;
import org.apache.iceberg.encryption.EncryptingFileIO;
import org.apache.iceberg.io.DeleteWriteResult;
import org.apache.iceberg.io.FanoutPositionOnlyDeleteWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.util.ContentFileUtil;

/**
 * Writes which rows of data files are deleted, together with those that positions have deleted
 * before: as deletion vectors, or in tables of format 2 as a file of positions for each data file.
 */
final class PositionFiles {
  private final Table table;
  private final DeleteLoader loader;
  private final Sink sink;
  private final Map<String, PositionDeleteIndex> before = new HashMap<>();
  private final List<DataFile> emptied = new ArrayList<>();
  private final List<DeleteFile> ofEmptied = new ArrayList<>();
  private long rows;

  /** A writer of Iceberg, of one kind or the other. */
  private interface Sink {
    void delete(DataFile file, PartitionSpec spec, long row);

    DeleteWriteResult written() throws IOException;
  }

  /** The rows of a data file that positions have deleted so far, and those that are added. */
  final class OfFile {
    private final DataFile file;
    private final PartitionSpec spec;
    private final PositionDeleteIndex own; // by files that are about this data file alone
    private final PositionDeleteIndex shared;
    private final List<DeleteFile> ownFiles;
    private final BitSet added = new BitSet();

    private OfFile(FileScanTask task) {
      file = task.file();
      spec = Objects.requireNonNull(table.specs().get(file.specId()), "a table keeps its specs");
      ownFiles = positionDeletes(task, true);
      own = load(ownFiles);
      shared = load(positionDeletes(task, false));
    }

    private static List<DeleteFile> positionDeletes(FileScanTask task, boolean isOwn) {
      return task.deletes().stream()
          .filter(each -> each.content() == FileContent.POSITION_DELETES)
          .filter(each -> ContentFileUtil.isFileScoped(each) == isOwn)
          .toList();
    }

    private PositionDeleteIndex load(List<DeleteFile> files) {
      if (files.isEmpty()) {
        return PositionDeleteIndex.empty();
      }
      try {
        return loader.loadPositionDeletes(files, file.location());
      } catch (RuntimeException e) {
        String all = files.stream().map(DeleteFile::location).collect(Collectors.joining(" or "));
        throw StoreFailure.readingPlain(all, e);
      }
    }

    boolean has(long row) {
      return own.isDeleted(row) || shared.isDeleted(row);
    }

    void add(long row) {
      added.set(Math.toIntExact(row)); // Iceberg's own vectors end there, too
      rows++;
    }

    /** All rows have been looked at, and some are left. */
    void keep() {
      if (!added.isEmpty()) {
        before.put(
            file.location(),
            DeletionVectors.areIn(table)
                ? PositionDeleteIndexUtil.merge(List.of(own, shared))
                : own);
        added.stream().forEach(row -> sink.delete(file, spec, row));
      }
    }

    /** All rows have been looked at, and none is left. */
    void remove() {
      emptied.add(file.copyWithoutStats());
      ofEmptied.addAll(ownFiles);
    }
  }

  /**
   * @param places gives names to new files of a format
   */
  PositionFiles(Table table, Function<FileFormat, OutputFileFactory> places) {
    this.table = table;
    loader =
        new BaseDeleteLoader(
            EncryptingFileIO.combine(table.io(), table.encryption())::newInputFile);
    sink =
        DeletionVectors.areIn(table)
            ? new Vectors(places.apply(FileFormat.PUFFIN))
            : new Positions(places.apply(format(table)));
  }

  private static FileFormat format(Table table) {
    Map<String, String> properties = table.properties();
    return FileFormat.fromString(
        properties.getOrDefault(
            TableProperties.DELETE_DEFAULT_FILE_FORMAT,
            properties.getOrDefault(
                TableProperties.DEFAULT_FILE_FORMAT, TableProperties.DEFAULT_FILE_FORMAT_DEFAULT)));
  }

  OfFile of(FileScanTask task) {
    return new OfFile(task);
  }

  /** Writes the files; a data file without an added row gets none. */
  Converted written() throws IOException {
    DeleteWriteResult written = sink.written();
    List<DeleteFile> replaced = new ArrayList<>(written.rewrittenDeleteFiles());
    replaced.addAll(ofEmptied);
    return new Converted(
        List.copyOf(written.deleteFiles()),
        replaced,
        new ArrayList<>(before.keySet()),
        emptied,
        rows);
  }

  private final class Vectors implements Sink {
    private final DVFileWriter writer;

    Vectors(OutputFileFactory places) {
      writer = new BaseDVFileWriter(places, before::get);
    }

    @Override
    public void delete(DataFile file, PartitionSpec spec, long row) {
      writer.delete(file.location(), row, spec, file.partition());
    }

    @Override
    public DeleteWriteResult written() throws IOException {
      writer.close();
      return writer.result();
    }
  }

  private final class Positions implements Sink {
    private final FanoutPositionOnlyDeleteWriter<Record> writer;
    private final PositionDelete<Record> deleted = PositionDelete.create();

    Positions(OutputFileFactory places) {
      writer =
          new FanoutPositionOnlyDeleteWriter<>(
              new GenericFileWriterFactory.Builder(table).build(),
              places,
              table.io(),
              Long.MAX_VALUE,
              DeleteGranularity.FILE,
              location -> before.get(location.toString()));
    }

    @Override
    public void delete(DataFile file, PartitionSpec spec, long row) {
      writer.write(deleted.set(file.location(), row), spec, file.partition());
    }

    @Override
    public DeleteWriteResult written() throws IOException {
      writer.close();
      return writer.result();
    }
  }
}
