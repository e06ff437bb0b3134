package io.keylake.spark.read.merge;

import io.keylake.merge.Key;
import io.keylake.merge.StoredRow;
import io.keylake.spark.read.task.MergeInfoType;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;

/**
 * A row as a reader shows it, with the numbers that its values stand for.
 *
 * @param values by column; a null is left out
 * @param stamps absolute versions by name, with those of the leaves; none where they are not wanted
 */
record ShownRow(Key key, Map<String, Long> values, Map<String, Long> stamps) {

  /** The row as a reader has to show it. */
  static ShownRow of(
      ParquetTable table, StoredRow row, Collection<String> columns, boolean withStamps) {
    Map<String, Long> values = new TreeMap<>();
    columns.forEach(column -> put(values, column, table.numberOf(row, column)));
    Map<String, Long> stamps = new TreeMap<>();
    if (withStamps) {
      put(stamps, KeyedSchema.VERSION, row.version());
      put(stamps, KeyedSchema.WRITTEN, row.written());
      put(stamps, KeyedSchema.DELETED, row.deleted());
      row.cells().forEach((leaf, cell) -> put(stamps, leaf, cell.at()));
    }
    return new ShownRow(row.key(), values, stamps);
  }

  /** The rows of all batches of a reader, which is closed. */
  static List<ShownRow> all(SectionReader reader) throws IOException {
    List<ShownRow> rows = new ArrayList<>();
    try (reader) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        for (int row = 0; row < batch.numRows(); row++) {
          rows.add(shown(reader.task, batch, row));
        }
      }
    }
    return rows;
  }

  private static ShownRow shown(ReadTask task, ColumnarBatch batch, int row) {
    Map<String, Long> values = new TreeMap<>();
    Map<String, Long> stamps = new TreeMap<>();
    for (int i = 0; i < task.output().size(); i++) {
      OutputColumn column = task.output().get(i);
      ColumnVector vector = batch.column(i);
      switch (column.source()) {
        case KEY, VALUE -> put(values, column.name(task.schema()), number(vector, column, row));
        case MERGE_INFO -> putStamps(stamps, vector, MergeInfoType.of(task.schema()), row);
        case IS_DELETED -> put(stamps, KeyedSchema.IS_DELETED, vector.getBoolean(row) ? 1L : 0L);
        default -> throw new AssertionError(column);
      }
    }
    long second = task.schema().key().size() > 1 ? values.remove("l") : 0L;
    return new ShownRow(new Key(values.remove("k"), second), values, stamps);
  }

  private static Long number(ColumnVector vector, OutputColumn column, int row) {
    if (vector.isNullAt(row)) {
      return null;
    }
    return switch (column.type().typeName()) {
      case "string" -> ParquetTable.number(vector.getUTF8String(row).toString());
      case "integer" -> (long) vector.getInt(row);
      case "double" -> (long) vector.getDouble(row);
      default -> vector.getLong(row);
    };
  }

  private static void putStamps(
      Map<String, Long> stamps, ColumnVector info, StructType type, int row) {
    long version = info.getChild(0).getLong(row);
    put(stamps, KeyedSchema.VERSION, version);
    putLag(stamps, KeyedSchema.WRITTEN, info.getChild(1), version, row);
    putLag(stamps, KeyedSchema.DELETED, info.getChild(2), version, row);
    StructType leaves = (StructType) type.apply(KeyedSchema.COLUMNS).dataType();
    for (int leaf = 0; leaf < leaves.length(); leaf++) {
      ColumnVector lags = info.getChild(3).getChild(leaf);
      putLag(stamps, leaves.fieldNames()[leaf], lags, version, row);
    }
  }

  private static void putLag(
      Map<String, Long> stamps, String name, ColumnVector lags, long version, int row) {
    put(stamps, name, lags.isNullAt(row) ? null : Long.valueOf(version - lags.getLong(row)));
  }

  private static void put(Map<String, Long> map, String name, Long value) {
    if (value != null) {
      map.put(name, value);
    }
  }
}
