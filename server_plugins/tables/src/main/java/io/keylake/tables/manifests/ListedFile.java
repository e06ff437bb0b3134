package io.keylake.tables.manifests;

import java.io.Serial;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;

/** A whole data file of a snapshot, with the delete files that take rows out of it. */
record ListedFile(DataFile file, List<DeleteFile> deletes, PartitionSpec spec)
    implements FileScanTask {
  @Serial private static final long serialVersionUID = 1L;

  @Override
  public Schema schema() {
    return spec.schema();
  }

  @Override
  public long start() {
    return 0;
  }

  @Override
  public long length() {
    return file.fileSizeInBytes();
  }

  @Override
  public Expression residual() {
    return Expressions.alwaysTrue();
  }

  @Override
  public Iterable<FileScanTask> split(long size) {
    return List.of(this);
  }
}
