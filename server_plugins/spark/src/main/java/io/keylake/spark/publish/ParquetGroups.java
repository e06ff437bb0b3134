package io.keylake.spark.publish;

import io.keylake.tables.spec.KeyedSchema;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
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
final class ParquetGroups implements GroupWriters {
  /** The size of a row group, which lies in memory until it is written. */
  private static final long ROW_GROUP_BYTES = 16L << 20;

  private final Configuration hadoop;
  private final Schema stored;
  private final StructType type;
  private final StructField[] columns;
  private final int keys;
  private final boolean hasTombstones;

  ParquetGroups(PublishedSchema schema, Configuration hadoop) {
    this.hadoop = hadoop;
    this.stored = stored(schema);
    this.type = SparkSchemaUtil.convert(stored);
    this.columns = SparkSchemaUtil.convert(schema.columns()).fields();
    this.keys = schema.key().size();
    this.hasTombstones = schema.hasTombstones();
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
  public GroupWriter open(File file, int group) throws IOException {
    return new Writer(file, group);
  }

  private final class Writer implements GroupWriter {
    private final FileAppender<InternalRow> file;
    private final Object[] cells = new Object[type.length()];
    private final InternalRow row = new GenericInternalRow(cells);

    Writer(File file, int group) throws IOException {
      this.cells[keys] = group;
      this.file =
          Parquet.write(HadoopOutputFile.fromPath(new Path(file.toURI()), hadoop))
              .schema(stored)
              .createWriterFunc(
                  (expected, parquet) -> SparkParquetWriters.buildWriter(expected, parquet, type))
              .set(TableProperties.PARQUET_COMPRESSION, "zstd")
              .set(TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES, String.valueOf(ROW_GROUP_BYTES))
              .overwrite()
              .build();
    }

    @Override
    public void write(InternalRow given, boolean isDeleted) {
      for (int i = 0; i < columns.length; i++) {
        Object value = given.isNullAt(i) ? null : given.get(i, columns[i].dataType());
        cells[i < keys ? i : i + 1] = value;
      }
      if (hasTombstones) {
        cells[cells.length - 1] = isDeleted;
      }
      file.add(row);
    }

    @Override
    public void close() throws IOException {
      file.close();
    }
  }
}
