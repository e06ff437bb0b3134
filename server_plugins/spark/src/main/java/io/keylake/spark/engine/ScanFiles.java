package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ScanTaskGroup;
import org.apache.spark.sql.connector.read.InputPartition;

/** The files that Iceberg's scan of a table has planned for one task. Its class is not public. */
@GuestApi
public final class ScanFiles {
  private ScanFiles() {}

  /**
   * @param partition of a batch scan of data files
   */
  public static List<FileScanTask> of(InputPartition partition) {
    try {
      Method method = partition.getClass().getMethod("taskGroup");
      method.setAccessible(true);
      return ((ScanTaskGroup<?>) method.invoke(partition))
          .tasks().stream().map(task -> task.asFileScanTask()).toList();
    } catch (NoSuchMethodException | IllegalAccessException | InvocationTargetException e) {
      throw new IllegalStateException(
          "this version of Iceberg plans scans in another way than Iceberg 1.12, which keylake is made for",
          e);
    }
  }
}
