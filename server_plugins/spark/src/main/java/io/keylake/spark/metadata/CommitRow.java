package io.keylake.spark.metadata;

import io.keylake.tables.history.CommitLog;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** A commit as procedures and tables show it. */
public final class CommitRow {
  public static final StructType TYPE =
      new StructType()
          .add("snapshot_id", DataTypes.LongType)
          .add("parent_id", DataTypes.LongType)
          .add("committed_at", DataTypes.TimestampType)
          .add("verb", DataTypes.StringType)
          .add("rows", DataTypes.LongType)
          .add("min_version", DataTypes.LongType)
          .add("max_version", DataTypes.LongType)
          .add("columns", DataTypes.createArrayType(DataTypes.StringType))
          .add("stream", DataTypes.StringType)
          .add("writer", DataTypes.StringType)
          .add("write_id", DataTypes.StringType)
          .add("idempotency_key", DataTypes.StringType)
          .add("files", DataTypes.LongType)
          .add("undone", DataTypes.BooleanType);

  private CommitRow() {}

  public static Object[] values(CommitLog.Entry entry) {
    return new Object[] {
      entry.snapshotId(),
      entry.parentId(),
      entry.committedAtMicros(),
      entry.verb(),
      entry.rows(),
      entry.minVersion(),
      entry.maxVersion(),
      entry.columns(),
      entry.stream(),
      entry.writer(),
      entry.writeId(),
      entry.idempotencyKey(),
      entry.files(),
      entry.isUndone()
    };
  }
}
