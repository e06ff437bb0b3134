package io.keylake.spark.read.merge;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.SectionPlan;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.jspecify.annotations.Nullable;

/** The sections of a bucket, one after the other: together they are in key order. */
public final class BucketRows implements Closeable {
  private final ReadTask task;
  private final ReadFacts read;
  private final List<Serializable> partition;
  private final DataFiles files;
  private final Iterator<SectionPlan> sections;
  private @Nullable SectionReader section;

  public BucketRows(
      ReadTask task, List<Serializable> partition, List<SectionPlan> sections, DataFiles files) {
    this.task = task;
    this.read = ReadFacts.of(task);
    this.partition = partition;
    this.files = files;
    this.sections = sections.iterator();
  }

  /** The next rows, valid until the next call; null at the end. */
  public @Nullable ColumnarBatch next() throws IOException {
    while (true) {
      SectionReader open = section;
      if (open == null) {
        if (!sections.hasNext()) {
          return null;
        }
        SectionPlan next = sections.next();
        if (!task.filters().onIndexes().mayPass(next, files)) {
          continue;
        }
        open = SectionReader.open(task, read, next, partition, files);
        section = open;
      }
      ColumnarBatch batch = open.next();
      if (batch != null) {
        return batch;
      }
      open.close();
      section = null;
    }
  }

  @Override
  public void close() throws IOException {
    if (section != null) {
      section.close();
    }
  }
}
