package io.keylake.spark.engine;

import java.io.Closeable;
import java.util.List;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.source.SparkRewriteTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import scala.Option;

/** Some files of a table, which can be read as they lie there until this is closed. */
public record StagedFiles(Table table, String id) implements Closeable {

  /**
   * @param id by which no other files of the table are staged
   */
  public static StagedFiles of(Table table, String id, List<FileScanTask> files) {
    ScanTaskSetManager.get().stageTasks(table, id, files);
    return new StagedFiles(table, id);
  }

  /** The rows of the files, for the session of the statement that this thread runs. */
  public Dataset<Row> rows() {
    DataSourceV2Relation relation =
        DataSourceV2Relation.create(
            new SparkRewriteTable(table, id), Option.empty(), Option.empty());
    return ClassicSession.active().frame(relation);
  }

  @Override
  public void close() {
    ScanTaskSetManager.get().removeTasks(table, id);
  }
}
