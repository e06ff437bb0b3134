package io.keylake.spark.write.skew;

import io.keylake.spark.engine.SessionSettings;
import java.io.Serializable;

/**
 * The size that the session wants of tasks that read a shuffle.
 *
 * @param bytes that are worth a task
 * @param leastBytes of a task, for which others wait rather than share
 * @param isFixed whether there are as many tasks as the shuffle has partitions, whatever they have
 */
record TaskSize(long bytes, long leastBytes, boolean isFixed) implements Serializable {
  static TaskSize ofSession() {
    return new TaskSize(
        SessionSettings.bytesPerTask(),
        SessionSettings.leastBytesPerTask(),
        !SessionSettings.coalescesPartitions());
  }
}
