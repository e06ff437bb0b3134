package io.keylake.spark.read;

import io.keylake.tables.SectionPlan.StoredFile;
import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * Batches of one data file, by Spark's own vectorised reader: it reads struct leaves, lists and maps as columns, which
 * Iceberg's does not. A batch is valid until the next one is asked for.
 */
final class StoredFileReader implements Closeable {
  private final VectorizedParquetRecordReader reader;

  StoredFileReader(StoredFile file, FileColumns columns, Configuration session, int batchRows) throws IOException {
    Configuration conf = new Configuration(session);
    conf.set(ParquetInputFormat.READ_SUPPORT_CLASS, ParquetReadSupport.class.getName());
    conf.set("org.apache.spark.sql.parquet.row.requested_schema", columns.schema().json());
    conf.setBoolean(SQLConf.PARQUET_FIELD_ID_READ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.IGNORE_MISSING_PARQUET_FIELD_ID().key(), true);
    conf.setBoolean(SQLConf.CASE_SENSITIVE().key(), true);
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG().key(), false);
    reader = new VectorizedParquetRecordReader(null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, batchRows);
    FileSplit split = new FileSplit(new Path(file.location()), 0, file.bytes(), new String[0]);
    try {
      reader.initialize(split, new TaskAttemptContextImpl(conf, new TaskAttemptID()));
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while opening " + file.location(), e);
    }
    reader.initBatch(new org.apache.spark.sql.types.StructType(), null);
    reader.enableReturningBatches();
  }

  /** The next batch, or null at the end. */
  ColumnarBatch next() throws IOException {
    return reader.nextBatch() ? reader.resultBatch() : null;
  }

  @Override
  public void close() throws IOException {
    reader.close();
  }
}
