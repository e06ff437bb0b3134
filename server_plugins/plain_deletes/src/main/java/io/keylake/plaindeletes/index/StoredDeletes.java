package io.keylake.plaindeletes.index;

import io.keylake.tables.StoreFailure;
import java.io.IOException;
import java.util.function.Function;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.data.InternalRecordWrapper;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.io.InputFile;

/** Delete files in any format, read row by row by Iceberg's generic readers. */
public final class StoredDeletes implements DeleteFileRows {
  private final Function<DeleteFile, InputFile> inputs;

  /**
   * @param inputs how a file is opened; it decrypts what is encrypted
   */
  public StoredDeletes(Function<DeleteFile, InputFile> inputs) {
    this.inputs = inputs;
  }

  @Override
  public void read(DeleteGroup group, DeleteFile file, Sink into) throws IOException {
    Schema schema = group.schema();
    InternalRecordWrapper internal = new InternalRecordWrapper(schema.asStruct());
    StructKeys keys = new StructKeys(group, schema.columns());
    try (CloseableIterable<Record> rows =
        FormatModelRegistry.<Record, Object>readBuilder(
                file.format(), Record.class, inputs.apply(file))
            .project(schema)
            .reuseContainers()
            .build()) {
      for (Record row : rows) {
        into.add(keys.of(internal.wrap(row)));
      }
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.readingPlain(file.location(), e);
    }
  }
}
