package io.keylake.spark.read.scan;

/** The kind of part that each task of a scan reads. */
public enum ScanTasks {
  /** A bucket, its rows in key order; Spark is told of both. */
  BUCKETS,
  /** A bucket or a range of keys of it, its rows in key order. */
  PARTS_IN_KEY_ORDER,
  /** A part of a bucket, its rows in any order. */
  PARTS
}
