package io.keylake.spark.publish;

import io.keylake.tables.KeyedSchema;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.iceberg.Schema;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.hadoop.HadoopOutputFile;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.spark.data.SparkParquetWriters;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** Parquet: the key, the group, the values and, where keys may be deleted, whether this one is. */
final class ParquetGroup implements GroupWriter {
  /** What lies in memory until it is written. */
  private static final long ROW_GROUP_BYTES = 16L << 20;

  private final FileAppender<InternalRow> file;
  private final StructField[] columns;
  private final int keys;
  private final Object[] cells;
  private final InternalRow stored;
  private final boolean hasTombstones;

  /**
   * @param hadoop shared by all files: to read the settings anew takes longer than to write a group
   */
  ParquetGroup(File file, PublishedSchema schema, int group, Configuration hadoop)
      throws IOException {
    Schema all = stored(schema);
    StructType type = SparkSchemaUtil.convert(all);
    this.columns = SparkSchemaUtil.convert(schema.columns()).fields();
    this.keys = schema.key().size();
    this.cells = new Object[type.length()];
    this.cells[keys] = group;
    this.stored = new GenericInternalRow(cells);
    this.hasTombstones = schema.hasTombstones();
    this.file =
        Parquet.write(
                HadoopOutputFile.fromPath(
                    new Path(file.toURI()), FileSystem.getLocal(hadoop).getRaw(), hadoop))
            .schema(all)
            .createWriterFunc(
                (expected, parquet) -> SparkParquetWriters.buildWriter(expected, parquet, type))
            .set(TableProperties.PARQUET_COMPRESSION, "zstd")
            .set(TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, String.valueOf(ROW_GROUP_BYTES))
            .overwrite()
            .build();
  }

  private static Schema stored(PublishedSchema schema) {
    List<NestedField> fields = new ArrayList<>(schema.key());
    int id = schema.table().table().highestFieldId();
    fields.add(NestedField.required(++id, KeyedSchema.GROUP, Types.IntegerType.get()));
    fields.addAll(schema.values());
    if (schema.hasTombstones()) {
      fields.add(NestedField.required(++id, KeyedSchema.IS_DELETED, Types.BooleanType.get()));
    }
    return new Schema(fields);
  }

  @Override
  public void write(InternalRow row, boolean isDeleted) {
    for (int i = 0; i < columns.length; i++) {
      cells[i < keys ? i : i + 1] = row.isNullAt(i) ? null : row.get(i, columns[i].dataType());
    }
    if (hasTombstones) {
      cells[cells.length - 1] = isDeleted;
    }
    file.add(stored);
  }

  @Override
  public void close() throws IOException {
    file.close();
  }
}
