package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import io.keylake.tables.storage.MemoryBudget;
import java.util.UUID;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.TempLocalBlockId;

/** Memory that Spark counts: of a task, or of the whole process. */
@GuestApi
public final class CountedMemory {
  private static final BlockId OWNER = new TempLocalBlockId(new UUID(0, 0));

  private CountedMemory() {}

  /**
   * Takes memory of the process, as cached data does: no task owns it.
   *
   * @return whether so much was free, or is now because cached data had to go
   */
  public static boolean take(long bytes) {
    return SparkEnv.get().memoryManager().acquireStorageMemory(OWNER, bytes, MemoryMode.ON_HEAP);
  }

  public static void give(long bytes) {
    SparkEnv env = SparkEnv.get();
    if (env != null) { // not while the process ends
      env.memoryManager().releaseStorageMemory(bytes, MemoryMode.ON_HEAP);
    }
  }

  /** The size of the pieces in which tasks get memory. */
  public static long pageBytes() {
    return SparkEnv.get().memoryManager().pageSizeBytes();
  }

  /** The memory that Spark grants a task; it is given back when the task ends, failed or not. */
  public static MemoryBudget of(TaskContext task) {
    return new OfTask(task);
  }

  private static final class OfTask extends MemoryConsumer implements MemoryBudget {
    OfTask(TaskContext task) {
      super(task.taskMemoryManager(), MemoryMode.ON_HEAP);
    }

    @Override
    public boolean take(long bytes) {
      long granted = acquireMemory(bytes);
      if (granted < bytes) {
        freeMemory(granted);
        return false;
      }
      return true;
    }

    @Override
    public void give(long bytes) {
      freeMemory(bytes);
    }

    /** An index spills when it is refused memory, and not when others want some. */
    @Override
    public long spill(long size, MemoryConsumer trigger) {
      return 0;
    }
  }
}
