package io.keylake.spark.read;

import io.keylake.tables.SectionPlan.StoredFile;
import java.io.Closeable;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.mapred.FileSplit;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;
import org.apache.iceberg.io.FileIO;
import org.apache.parquet.HadoopReadOptions;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.ParquetFileReader;
import org.apache.parquet.hadoop.ParquetInputFormat;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.hadoop.util.HadoopInputFile;
import org.apache.parquet.io.SeekableInputStream;
import org.apache.spark.sql.execution.datasources.parquet.ParquetReadSupport;
import org.apache.spark.sql.execution.datasources.parquet.VectorizedParquetRecordReader;
import org.apache.spark.sql.internal.SQLConf;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import scala.Option;

/**
 * Batches of one data file, by Spark's own vectorised reader: it reads struct leaves, lists and
 * maps as columns, which Iceberg's does not. Bytes come through Iceberg's FileIO, from wherever the
 * table lies. A batch is valid until the next one is asked for.
 */
final class StoredFileReader implements Closeable {
  private final VectorizedParquetRecordReader reader;

  /**
   * @param keyFilter row groups and pages without a wanted key are skipped
   */
  StoredFileReader(
      FileIO io, StoredFile file, FileColumns columns, KeyFilter keyFilter, int batchRows)
      throws IOException {
    Configuration conf = configuration(columns);
    IcebergInput input =
        new IcebergInput(io.newInputFile(file.location(), file.bytes()), file.bytes());
    SeekableInputStream stream = input.newStream();
    reader =
        new VectorizedParquetRecordReader(
            null, "CORRECTED", "UTC", "CORRECTED", "UTC", false, batchRows);
    try {
      // The reader takes the stream, but wants to be told of a Hadoop file it comes from.
      Path name = new Path("file:///" + file.location().hashCode());
      ParquetMetadata footer =
          ParquetFileReader.readFooter(
              input, HadoopReadOptions.builder(conf, name).build(), stream);
      FilterPredicate predicate = keyFilter.on(footer.getFileMetaData().getSchema());
      if (predicate != null) {
        ParquetInputFormat.setFilterPredicate(conf, predicate);
      }
      FileStatus status = new FileStatus(file.bytes(), false, 1, file.bytes(), 0, name);
      reader.initialize(
          new FileSplit(name, 0, file.bytes(), new String[0]),
          new TaskAttemptContextImpl(conf, new TaskAttemptID()),
          Option.apply(HadoopInputFile.fromStatus(status, conf)),
          Option.apply(stream),
          Option.apply(footer));
    } catch (InterruptedException e) {
      stream.close();
      Thread.currentThread().interrupt();
      throw new IOException("interrupted while opening " + file.location(), e);
    } catch (IOException | RuntimeException e) {
      stream.close();
      throw e;
    }
    reader.initBatch(new StructType(), null);
    reader.enableReturningBatches();
  }

  private static Configuration configuration(FileColumns columns) {
    Configuration conf = new Configuration(false);
    conf.set(ParquetInputFormat.READ_SUPPORT_CLASS, ParquetReadSupport.class.getName());
    conf.set("org.apache.spark.sql.parquet.row.requested_schema", columns.schema().json());
    conf.setBoolean(SQLConf.PARQUET_FIELD_ID_READ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.IGNORE_MISSING_PARQUET_FIELD_ID().key(), true);
    conf.setBoolean(SQLConf.CASE_SENSITIVE().key(), true);
    conf.setBoolean(SQLConf.PARQUET_BINARY_AS_STRING().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INT96_AS_TIMESTAMP().key(), false);
    conf.setBoolean(SQLConf.PARQUET_INFER_TIMESTAMP_NTZ_ENABLED().key(), true);
    conf.setBoolean(SQLConf.LEGACY_PARQUET_NANOS_AS_LONG().key(), false);
    return conf;
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
