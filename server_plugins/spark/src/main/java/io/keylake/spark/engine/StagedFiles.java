package io.keylake.spark.engine;

import java.io.Closeable;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.ScanTaskSetManager;
import org.apache.iceberg.spark.source.SparkRewriteTable;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
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
            new WithMetadataColumns(table, id), Option.empty(), Option.empty());
    return ClassicSession.active().frame(relation);
  }

  @Override
  public void close() {
    ScanTaskSetManager.get().removeTasks(table, id);
  }

  /**
   * A table that shows its metadata columns: in format 3 some of them are among the columns, and
   * Spark then finds no others.
   */
  private static final class WithMetadataColumns extends SparkRewriteTable {
    WithMetadataColumns(Table table, String id) {
      super(table, id);
    }

    @Override
    public Column[] columns() {
      Set<String> ofMetadata =
          Arrays.stream(metadataColumns()).map(MetadataColumn::name).collect(Collectors.toSet());
      return Arrays.stream(super.columns())
          .filter(column -> !ofMetadata.contains(column.name()))
          .toArray(Column[]::new);
    }
  }
}
