package io.keylake.spark.parquet;

import io.keylake.tables.planning.RowGroups;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.io.FileIO;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.io.api.Binary;
import org.apache.parquet.schema.Type;
import org.jspecify.annotations.Nullable;

/**
 * The row groups of a Parquet file, from its footer.
 *
 * @param keyId field id of the first column of the sort key
 */
public record ParquetRowGroups(FileIO io, int keyId) implements RowGroups {

  @Override
  public List<RowGroup> of(StoredFile file) {
    try {
      DataFiles.Opened opened = new DataFiles(io, new ReadCounters()).open(file);
      opened.stream().close();
      return rowGroups(opened.footer());
    } catch (IOException e) {
      throw new UncheckedIOException("cannot read the footer of " + file.location(), e);
    }
  }

  private List<RowGroup> rowGroups(ParquetMetadata footer) {
    String key = null;
    for (Type column : footer.getFileMetaData().getSchema().getFields()) {
      if (column.getId() != null && column.getId().intValue() == keyId) {
        key = column.getName();
      }
    }
    List<RowGroup> groups = new ArrayList<>();
    for (BlockMetaData block : footer.getBlocks()) {
      Serializable lower = null;
      for (ColumnChunkMetaData chunk : block.getColumns()) {
        if (chunk.getPath().size() == 1 && chunk.getPath().toArray()[0].equals(key)) {
          lower = smallest(chunk.getStatistics());
        }
      }
      groups.add(new RowGroup(lower, block.getRowCount()));
    }
    return groups;
  }

  private static @Nullable Serializable smallest(@Nullable Statistics<?> statistics) {
    Object value =
        statistics != null && statistics.hasNonNullValue() ? statistics.genericGetMin() : null;
    if (value instanceof Number number) {
      return Long.valueOf(number.longValue());
    }
    return value instanceof Binary text ? text.toStringUsingUTF8() : null;
  }
}
