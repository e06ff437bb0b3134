package io.keylake.spark.maintenance;

import io.keylake.tables.deletes.MemoryBudget;
import org.apache.spark.TaskContext;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.MemoryMode;

/** What Spark grants a task; it is given back when the task ends, whatever becomes of it. */
final class TaskMemory extends MemoryConsumer implements MemoryBudget {
  TaskMemory(TaskContext task) {
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
