package io.keylake.spark.mergedstate;

import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Schema;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.ColumnDescriptor;
import org.apache.parquet.column.statistics.Statistics;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.ColumnPath;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.DecimalLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.jspecify.annotations.Nullable;

/**
 * A Parquet file that another engine has written. Iceberg reads it by the schema of the table and
 * not by its own: values of another type become other values, and nulls in a required column shift
 * those behind them. So its footer is compared before any of its rows is taken.
 */
record ForeignFile(ContentFile<?> file, Schema table) {
  private static final int UUID_BYTES = 16;

  /** The fault of the file; empty where it can be read as the table says. */
  Optional<String> fault(FileIO io) {
    if (file.format() != FileFormat.PARQUET) {
      return Optional.empty(); // the others are read by the types that they say
    }
    DataFiles files = new DataFiles(io, new ReadCounters());
    StoredFile stored =
        new StoredFile(file.location(), file.fileSizeInBytes(), file.recordCount(), List.of());
    DataFiles.Opened opened = files.openAnew(stored);
    try {
      return fault(opened.footer());
    } finally {
      close(opened);
    }
  }

  private static void close(DataFiles.Opened opened) {
    try {
      opened.stream().close();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private Optional<String> fault(ParquetMetadata footer) {
    long rows = footer.getBlocks().stream().mapToLong(BlockMetaData::getRowCount).sum();
    if (rows != file.recordCount()) {
      return Optional.of(
          "it has %d rows, and its manifest says %d".formatted(rows, file.recordCount()));
    }
    if (footer.getFileMetaData().getSchema().getFields().stream()
        .anyMatch(column -> column.getId() == null)) {
      return Optional.of("it has a column without a field id");
    }
    for (ColumnDescriptor column : footer.getFileMetaData().getSchema().getColumns()) {
      PrimitiveType stored = column.getPrimitiveType();
      NestedField field =
          stored.getId() == null ? null : table.findField(stored.getId().intValue());
      if (field != null && !isReadAs(stored, field.type())) {
        return Optional.of(
            "column '%s' is %s there, which is no %s"
                .formatted(table.findColumnName(field.fieldId()), stored, field.type()));
      }
      if (field != null && field.isRequired() && mayHaveNulls(footer, column)) {
        return Optional.of(
            "column '%s' is required, and may be null there"
                .formatted(table.findColumnName(field.fieldId())));
      }
    }
    return Optional.empty();
  }

  /** A column that can be null says in no statistics that it never is. */
  private static boolean mayHaveNulls(ParquetMetadata footer, ColumnDescriptor column) {
    if (column.getMaxDefinitionLevel() == 0 || column.getPath().length > 1) {
      return false;
    }
    for (BlockMetaData group : footer.getBlocks()) {
      for (ColumnChunkMetaData chunk : group.getColumns()) {
        if (chunk.getPath().equals(ColumnPath.get(column.getPath()))) {
          Statistics<?> known = chunk.getStatistics();
          if (known == null || !known.isNumNullsSet() || known.getNumNulls() > 0) {
            return true;
          }
        }
      }
    }
    return false;
  }

  /** Values of a type of Parquet are those of a type of Iceberg, or of one that it widens. */
  private static boolean isReadAs(PrimitiveType stored, Type type) {
    PrimitiveTypeName name = stored.getPrimitiveTypeName();
    @Nullable LogicalTypeAnnotation kind = stored.getLogicalTypeAnnotation();
    boolean isInt = name == PrimitiveTypeName.INT32 && isWholeNumber(kind);
    return switch (type.typeId()) {
      case BOOLEAN -> name == PrimitiveTypeName.BOOLEAN;
      case INTEGER -> isInt;
      case LONG -> isInt || name == PrimitiveTypeName.INT64 && isWholeNumber(kind);
      case FLOAT -> name == PrimitiveTypeName.FLOAT;
      case DOUBLE -> name == PrimitiveTypeName.DOUBLE || name == PrimitiveTypeName.FLOAT;
      case DATE -> kind instanceof LogicalTypeAnnotation.DateLogicalTypeAnnotation;
      case TIME ->
          kind instanceof TimeLogicalTypeAnnotation time && time.getUnit() == TimeUnit.MICROS;
      case TIMESTAMP ->
          name == PrimitiveTypeName.INT96
              || isTimestamp(
                  kind, TimeUnit.MICROS, ((Types.TimestampType) type).shouldAdjustToUTC());
      case TIMESTAMP_NANO ->
          isTimestamp(kind, TimeUnit.NANOS, ((Types.TimestampNanoType) type).shouldAdjustToUTC());
      case DECIMAL ->
          kind instanceof DecimalLogicalTypeAnnotation decimal
              && decimal.getScale() == ((Types.DecimalType) type).scale()
              && decimal.getPrecision() <= ((Types.DecimalType) type).precision();
      case STRING -> name == PrimitiveTypeName.BINARY && !isDecimal(kind);
      case BINARY ->
          !isDecimal(kind)
              && (name == PrimitiveTypeName.BINARY
                  || name == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY);
      case UUID -> isFixed(stored, UUID_BYTES);
      case FIXED -> isFixed(stored, ((Types.FixedType) type).length());
      default -> true; // of several columns: their readers look at them
    };
  }

  private static boolean isWholeNumber(@Nullable LogicalTypeAnnotation kind) {
    return kind == null
        || kind instanceof LogicalTypeAnnotation.IntLogicalTypeAnnotation number
            && number.isSigned();
  }

  private static boolean isDecimal(@Nullable LogicalTypeAnnotation kind) {
    return kind instanceof DecimalLogicalTypeAnnotation;
  }

  private static boolean isTimestamp(
      @Nullable LogicalTypeAnnotation kind, TimeUnit unit, boolean hasZone) {
    return kind instanceof TimestampLogicalTypeAnnotation timestamp
        && timestamp.getUnit() == unit
        && timestamp.isAdjustedToUTC() == hasZone;
  }

  private static boolean isFixed(PrimitiveType stored, int length) {
    return stored.getPrimitiveTypeName() == PrimitiveTypeName.FIXED_LEN_BYTE_ARRAY
        && stored.getTypeLength() == length
        && !isDecimal(stored.getLogicalTypeAnnotation());
  }
}
