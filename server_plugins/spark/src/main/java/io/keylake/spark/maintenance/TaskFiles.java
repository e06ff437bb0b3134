package io.keylake.spark.maintenance;

import io.keylake.tables.GuestApi;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.spark.TaskContext;

/** Names of the files that a task writes: no other task has them, and no other attempt of it. */
@GuestApi
public final class TaskFiles {
  private TaskFiles() {}

  /**
   * @param operation the common part of the names
   */
  static OutputFileFactory named(Table table, FileFormat format, String operation) {
    return named(table, format, operation, table.io());
  }

  /**
   * @param io that opens the files
   */
  public static OutputFileFactory named(
      Table table, FileFormat format, String operation, FileIO io) {
    TaskContext task = TaskContext.get();
    return OutputFileFactory.builderFor(table, task.partitionId(), task.taskAttemptId())
        .format(format)
        .operationId(operation)
        .ioSupplier(() -> io)
        .build();
  }
}
