package io.keylake.spark.read.lookups;

import org.apache.spark.SparkContext;
import org.apache.spark.sql.execution.SQLExecution;

/**
 * Says whether this thread is about to send the rows of a query to a client. Spark Connect 4.1
 * makes a job of every plan but rows that are there already, so what the driver looks up must be
 * there when the plan is made.
 *
 * <p>The threads that run operations of clients have a tag. A statement that has begun, such as
 * EXPLAIN, has a number besides, and only shows or stores the plans that it makes.
 */
final class ConnectOperation {
  private static final String TAG = "SparkConnect_OperationTag";

  private ConnectOperation() {}

  static boolean sendsRows(SparkContext context) {
    return context.getLocalProperty(SQLExecution.EXECUTION_ID_KEY()) == null
        && context.getJobTags().exists(tag -> tag.startsWith(TAG));
  }
}
