package io.keylake.spark.integrity;

import io.keylake.tables.FileDamage;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.DecimalType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.GroupType;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.Type;

/**
 * A footer has no checksum, so it is compared with what is known of the file from elsewhere, and
 * with itself:
 *
 * <ol>
 *   <li>Its row groups have as many rows as the manifest says.
 *   <li>A flat column has a value for each row, and no more nulls than values.
 *   <li>The columns of a row group lie in the file one after another, in the order of the schema.
 *   <li>The schema has the columns that the writer has noted beside it.
 *   <li>The name that the writer has noted is that of the file: another one is a file in the place
 *       of this one.
 * </ol>
 *
 * <p>The second to the fourth hold for files of parquet-java, which is what all writers of
 * keylake's server use; others have freedoms that the format leaves them.
 */
public final class CheckedFooter {
  private static final String PARQUET_JAVA = "parquet-mr";
  private static final String PATHS_OF_POSITIONS = MetadataColumns.DELETE_FILE_PATH.name();
  private static final String NOTED_SCHEMA = "iceberg.schema";

  /** The name of a file in its own footer, where its writer has noted it. */
  public static final String NOTED_NAME = "keylake.file";

  private CheckedFooter() {}

  /**
   * @param rows of the file, as its manifest says
   * @param bytes of the file, as its manifest says
   */
  public static void check(ParquetMetadata footer, long rows, long bytes) throws FileDamage {
    long found = footer.getBlocks().stream().mapToLong(BlockMetaData::getRowCount).sum();
    if (found != rows) {
      throw new FileDamage("its footer has %d rows, its manifest %d".formatted(found, rows));
    }
    if (isOfParquetJava(footer.getFileMetaData())) {
      List<ColumnDescriptor> columns = footer.getFileMetaData().getSchema().getColumns();
      for (int group = 0; group < footer.getBlocks().size(); group++) {
        check(group, footer.getBlocks().get(group), columns, bytes);
      }
    }
  }

  /**
   * Compares the columns of a file with the schema that Iceberg's writers note in it as text: a
   * column is found by its id, and one that is not found reads as null.
   */
  public static void checkColumns(FileMetaData file) throws FileDamage {
    String noted = file.getKeyValueMetaData().get(NOTED_SCHEMA);
    if (noted == null || !isOfParquetJava(file)) {
      return;
    }
    Map<Integer, Type> stored = new HashMap<>();
    collect(file.getSchema(), stored);
    Map<Integer, NestedField> wanted;
    try {
      wanted = TypeUtil.indexById(SchemaParser.fromJson(noted).asStruct());
    } catch (RuntimeException e) {
      throw FileDamage.of("the schema in its footer", e);
    }
    for (NestedField field : wanted.values()) {
      Type column = stored.get(field.fieldId());
      boolean isStored = field.type().isPrimitiveType() && field.type().typeId() != TypeID.UNKNOWN;
      if (isStored && (column == null || !fits(column, field))) {
        throw new FileDamage(
            "column %s in its footer is not as its writer noted it".formatted(field.name()));
      }
    }
  }

  /** Compares the name of a file with the one that its writer noted in it, if it has. */
  public static void checkName(FileMetaData file, String location) throws FileDamage {
    String noted = file.getKeyValueMetaData().get(NOTED_NAME);
    if (noted != null && !noted.equals(nameOf(location))) {
      throw new FileDamage("file %s lies in its place".formatted(noted));
    }
  }

  /**
   * Compares the data file that a file of positions speaks of with the one that its manifest says,
   * where the footer says only one.
   */
  public static void checkPositions(ParquetMetadata footer, String dataFile) throws FileDamage {
    for (BlockMetaData block : footer.getBlocks()) {
      for (ColumnChunkMetaData chunk : block.getColumns()) {
        Statistics<?> paths = chunk.getStatistics();
        boolean isOfPaths = chunk.getPath().equals(ColumnPath.get(PATHS_OF_POSITIONS));
        if (!isOfPaths || paths == null || !paths.hasNonNullValue()) {
          continue;
        }
        String least = new String(paths.getMinBytes(), StandardCharsets.UTF_8);
        String greatest = new String(paths.getMaxBytes(), StandardCharsets.UTF_8);
        if (least.equals(greatest) && !least.equals(dataFile)) {
          throw new FileDamage("its positions are those of file %s".formatted(least));
        }
      }
    }
  }

  /** The name of a file, without its folders. */
  public static String nameOf(String location) {
    return location.substring(location.lastIndexOf('/') + 1);
  }

  private static void collect(GroupType group, Map<Integer, Type> into) {
    for (Type each : group.getFields()) {
      if (each.getId() != null) {
        into.put(each.getId().intValue(), each);
      }
      if (!each.isPrimitive()) {
        collect(each.asGroupType(), into);
      }
    }
  }

  /** Numbers of a column in a file mean the same as those of the field. */
  private static boolean fits(Type column, NestedField field) {
    LogicalTypeAnnotation logical = column.getLogicalTypeAnnotation();
    return switch (field.type().typeId()) {
      case DECIMAL ->
          logical instanceof DecimalLogicalTypeAnnotation number
              && number.getScale() == ((DecimalType) field.type()).scale();
      case TIMESTAMP ->
          logical instanceof TimestampLogicalTypeAnnotation time
              && time.getUnit() == TimeUnit.MICROS;
      default -> true;
    };
  }

  /** A file is one that parquet-java has written. */
  public static boolean isOfParquetJava(FileMetaData file) {
    return Objects.requireNonNullElse(file.getCreatedBy(), "").startsWith(PARQUET_JAVA);
  }

  private static void check(
      int group, BlockMetaData block, List<ColumnDescriptor> columns, long bytes)
      throws FileDamage {
    List<ColumnChunkMetaData> chunks = block.getColumns();
    if (chunks.size() != columns.size()) {
      throw damaged(group, "has %d columns, its schema %d", chunks.size(), columns.size());
    }
    long next = -1;
    for (int i = 0; i < chunks.size(); i++) {
      ColumnChunkMetaData chunk = chunks.get(i);
      ColumnDescriptor column = columns.get(i);
      ColumnPath path = chunk.getPath();
      if (!ColumnPath.get(column.getPath()).equals(path)) {
        throw damaged(group, "has column %s where its schema has another", path.toDotString());
      }
      long begin = chunk.getStartingPos();
      if (next >= 0 && begin != next || begin < 0 || chunk.getTotalSize() < 0) {
        throw damaged(group, "has column %s at %d", path.toDotString(), begin);
      }
      next = begin + chunk.getTotalSize();
      if (next > bytes) {
        throw damaged(group, "has column %s up to %d", path.toDotString(), next);
      }
      long values = chunk.getValueCount();
      boolean isFlat = column.getMaxRepetitionLevel() == 0;
      if (isFlat ? values != block.getRowCount() : values < block.getRowCount()) {
        throw damaged(
            group,
            "has %d values of column %s for %d rows",
            values,
            path.toDotString(),
            block.getRowCount());
      }
      if (chunk.getStatistics() != null
          && chunk.getStatistics().isNumNullsSet()
          && chunk.getStatistics().getNumNulls() > values) {
        throw damaged(group, "has more nulls than values of column %s", path.toDotString());
      }
    }
  }

  private static FileDamage damaged(int group, String how, Object... values) {
    return new FileDamage("row group " + group + " in its footer " + how.formatted(values));
  }
}
