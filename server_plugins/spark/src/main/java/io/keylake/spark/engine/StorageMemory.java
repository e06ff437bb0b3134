package io.keylake.spark.engine;

import java.util.UUID;
import org.apache.spark.SparkEnv;
import org.apache.spark.memory.MemoryMode;
import org.apache.spark.storage.BlockId;
import org.apache.spark.storage.TempLocalBlockId;

/** Memory of a process that Spark counts as it counts cached data: no task owns it. */
public final class StorageMemory {
  private static final BlockId OWNER = new TempLocalBlockId(new UUID(0, 0));

  private StorageMemory() {}

  /** Whether so much was free, or is now because cached data had to go. */
  public static boolean take(long bytes) {
    return SparkEnv.get().memoryManager().acquireStorageMemory(OWNER, bytes, MemoryMode.ON_HEAP);
  }

  public static void give(long bytes) {
    SparkEnv env = SparkEnv.get();
    if (env != null) { // not while the process ends
      env.memoryManager().releaseStorageMemory(bytes, MemoryMode.ON_HEAP);
    }
  }
}
