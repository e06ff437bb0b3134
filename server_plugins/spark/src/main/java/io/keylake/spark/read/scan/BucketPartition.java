package io.keylake.spark.read.scan;

import io.keylake.tables.planning.BucketPlan;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.read.HasPartitionKey;

/** One bucket, as the unit of work of a scan. */
record BucketPartition(BucketPlan bucket, InternalRow partitionKey) implements HasPartitionKey {}
