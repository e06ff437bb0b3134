package io.keylake.spark.read.merge;

import io.keylake.spark.engine.ConstantVector;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.selection.Selection;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.List;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/**
 * The merged rows of one section, in key order, batch by batch. A batch is valid until the next
 * one.
 */
abstract class SectionReader implements Closeable {
  final ReadTask task;
  final SectionPlan section;
  private final int bucket;

  SectionReader(ReadTask task, SectionPlan section, List<Serializable> partition) {
    this.task = task;
    this.section = section;
    this.bucket = (Integer) partition.get(partition.size() - 1);
  }

  static SectionReader open(
      ReadTask task, SectionPlan section, List<Serializable> partition, DataFiles files)
      throws IOException {
    if (section.passedThrough()) {
      return new PassedThroughReader(task, section, partition, files);
    }
    Selection selection = SelectedRows.before(task, section, files);
    return selection == null
        ? new MergedReader(task, section, partition, files)
        : new PassedThroughReader(
            task, section.withoutMerge(), partition, files.with(selection.byFile()));
  }

  /** The next batch, or null at the end. */
  abstract @Nullable ColumnarBatch next() throws IOException;

  final ColumnVector bucketVector(int rows) {
    return ConstantVector.of(bucket, rows);
  }
}
