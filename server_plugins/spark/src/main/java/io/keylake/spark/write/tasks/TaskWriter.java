package io.keylake.spark.write.tasks;

import io.keylake.spark.write.tasks.KeyedDataWriter.Written;
import java.io.IOException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.DataWriter;

/** The writer of one task, which tells what it has written. */
interface TaskWriter extends DataWriter<InternalRow> {
  @Override
  Written commit() throws IOException;
}
