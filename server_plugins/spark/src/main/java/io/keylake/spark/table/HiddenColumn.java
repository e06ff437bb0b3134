package io.keylake.spark.table;

import io.keylake.spark.read.task.MergeInfoType;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.connector.catalog.MetadataColumn;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;

/** A column that queries can name, and that is not in their star. */
record HiddenColumn(String name, DataType dataType, String comment) implements MetadataColumn {
  @Override
  public boolean isNullable() {
    return false;
  }

  static MetadataColumn[] of(KeyedSchema keyed) {
    List<MetadataColumn> columns = new ArrayList<>();
    columns.add(
        new HiddenColumn(
            KeyedSchema.MERGE_INFO,
            MergeInfoType.of(keyed),
            "Versions of the merged row and its values."));
    columns.add(
        new HiddenColumn(KeyedSchema.BUCKET, DataTypes.IntegerType, "Bucket of the row's key."));
    if (keyed.hasGroups()) {
      columns.add(
          new HiddenColumn(KeyedSchema.GROUP, DataTypes.IntegerType, "Group of the row's key."));
    }
    columns.add(
        new HiddenColumn(
            KeyedSchema.IS_DELETED,
            DataTypes.BooleanType,
            "Whether the key was deleted, in a read of what was written after a commit."));
    return columns.toArray(MetadataColumn[]::new);
  }
}
