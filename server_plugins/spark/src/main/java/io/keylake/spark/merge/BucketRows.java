package io.keylake.spark.merge;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.tables.planning.SectionPlan;
import java.io.Closeable;
import java.io.IOException;
import java.io.Serializable;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/** The sections of a bucket, one after the other: together they are in key order. */
public final class BucketRows implements Closeable {
  private final ReadTask task;
  private final List<Serializable> partition;
  private final DataFiles files;
  private final Iterator<SectionPlan> sections;
  private SectionReader section;

  public BucketRows(
      ReadTask task, List<Serializable> partition, List<SectionPlan> sections, DataFiles files) {
    this.task = task;
    this.partition = partition;
    this.files = files;
    this.sections = sections.iterator();
  }

  /** The next rows, valid until the next call; null at the end. */
  public ColumnarBatch next() throws IOException {
    while (true) {
      if (section == null) {
        if (!sections.hasNext()) {
          return null;
        }
        section = SectionReader.open(task, sections.next(), partition, files);
      }
      ColumnarBatch batch = section.next();
      if (batch != null) {
        return batch;
      }
      section.close();
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
