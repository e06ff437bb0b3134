package io.keylake.spark.publish;

import java.io.Closeable;
import java.io.File;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;

/** Writes the groups of one task, one after the other. */
interface GroupWriters {
  /** A local file that is about to be written; rows come in key order. */
  GroupWriter open(File file, int group) throws IOException;

  /** Writes the file of one group. What was written is whole once it is closed. */
  interface GroupWriter extends Closeable {
    /**
     * @param row key and values, as {@link PublishedSchema} has them
     */
    void write(InternalRow row, boolean isDeleted) throws IOException;
  }
}
