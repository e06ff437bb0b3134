package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import java.io.Closeable;
import java.io.File;
import org.apache.spark.SparkEnv;
import org.apache.spark.util.Utils;

/** A directory for a task on its own machine, where Spark keeps its own temporary files. */
@GuestApi
public record LocalDirectory(File path) implements Closeable {

  /**
   * @param purpose the beginning of its name
   */
  public static LocalDirectory create(String purpose) {
    return new LocalDirectory(
        Utils.createTempDir(Utils.getLocalDir(SparkEnv.get().conf()), purpose));
  }

  /** Deletes the directory with all it has, also when the task was interrupted. */
  @Override
  public void close() {
    boolean isInterrupted = Thread.interrupted(); // or Spark deletes nothing
    try {
      Utils.deleteRecursively(path);
    } finally {
      if (isInterrupted) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
