package io.keylake.spark.parquet;

import io.keylake.spark.engine.RowGroupDecoder;
import io.keylake.tables.cache.BoundedCache;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.LogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.IntLogicalTypeAnnotation;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimeUnit;
import org.apache.parquet.schema.LogicalTypeAnnotation.TimestampLogicalTypeAnnotation;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Type.Repetition;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.types.TimestampNTZType;
import org.apache.spark.sql.types.TimestampType;

/** The decoders of the columns of a file, made like those of other files with the same schema. */
final class Decoders {
  private static final int SHARE_OF_HEAP = 128;
  private static final int BYTES_OF_COLUMN = 3000;

  private static final BoundedCache<Shape, Decoders> FIRST =
      BoundedCache.ofHeap(
          SHARE_OF_HEAP,
          (shape, decoders) -> (long) BYTES_OF_COLUMN * (1 + decoders.all.getPaths().size()));

  private final RowGroupDecoder others;
  private final MessageType all;
  private final List<String> flat;
  private final boolean isPlain;

  /**
   * @param others decodes all columns that {@link FlatColumn} does not
   * @param all columns that are read, as the file has them
   * @param flat for each column its name in the file, if {@link FlatColumn} decodes it, or ""
   * @param isPlain whether all values are written as {@link FlatColumn} reads them
   */
  private Decoders(RowGroupDecoder others, MessageType all, List<String> flat, boolean isPlain) {
    this.others = others;
    this.all = all;
    this.flat = flat;
    this.isPlain = isPlain;
  }

  /**
   * @param isPlain whether all values are written as {@link FlatColumn} reads them
   */
  private record Shape(MessageType file, String writer, StructType columns, boolean isPlain) {}

  static Decoders of(ParquetMetadata footer, FileColumns columns) throws IOException {
    FileMetaData file = footer.getFileMetaData();
    boolean isPlain = hasNone(FlatColumn.NOT_READ, footer, file.getSchema());
    Shape shape = new Shape(file.getSchema(), file.getCreatedBy(), columns.schema(), isPlain);
    return FIRST.get(
        shape,
        () -> {
          StructType stored = columns.in(file.getSchema());
          return made(footer, stored, isPlain);
        });
  }

  private static Decoders made(ParquetMetadata footer, StructType stored, boolean isPlain)
      throws IOException {
    MessageType file = footer.getFileMetaData().getSchema();
    List<String> flat = flat(file, stored, isPlain);
    StructField[] others =
        IntStream.range(0, stored.length())
            .filter(i -> flat.get(i).isEmpty())
            .mapToObj(i -> stored.fields()[i])
            .toArray(StructField[]::new);
    RowGroupDecoder decoder = RowGroupDecoder.of(footer, new StructType(others));
    List<Type> all = new ArrayList<>(decoder.columns().getFields());
    flat.stream().filter(name -> !name.isEmpty()).forEach(name -> all.add(file.getType(name)));
    return new Decoders(decoder, new MessageType(file.getName(), all), flat, isPlain);
  }

  private static List<String> flat(MessageType file, StructType stored, boolean isPlain) {
    List<String> names = new ArrayList<>();
    for (StructField field : stored.fields()) {
      names.add(
          isPlain
                  && file.containsField(field.name())
                  && file.getType(field.name()) instanceof PrimitiveType type
                  && type.getRepetition() != Repetition.REPEATED
                  && isAsStored(field.dataType(), type)
              ? field.name()
              : "");
    }
    return names;
  }

  /** Values are to Spark what they are in the file. */
  private static boolean isAsStored(DataType wanted, PrimitiveType type) {
    LogicalTypeAnnotation logical = type.getLogicalTypeAnnotation();
    boolean isSigned =
        logical == null || logical instanceof IntLogicalTypeAnnotation number && number.isSigned();
    return switch (type.getPrimitiveTypeName()) {
      case INT32 -> wanted instanceof IntegerType && isSigned || wanted instanceof DateType;
      case INT64 ->
          wanted instanceof LongType && isSigned
              || (wanted instanceof TimestampType || wanted instanceof TimestampNTZType)
                  && logical instanceof TimestampLogicalTypeAnnotation time
                  && time.getUnit() == TimeUnit.MICROS;
      case FLOAT -> wanted instanceof FloatType;
      case DOUBLE -> wanted instanceof DoubleType;
      case BINARY -> wanted instanceof StringType;
      default -> false;
    };
  }

  /**
   * Spark's decoder may be told to leave rows out within pages. Of numbers written as differences
   * it then gives wrong ones: after it was asked for none of them, which it does where a gap ends,
   * it begins its page again.
   */
  boolean skipsRows(ParquetMetadata footer) {
    return isPlain || hasNone(Set.of(Encoding.DELTA_BINARY_PACKED), footer, all);
  }

  private static boolean hasNone(
      Set<Encoding> encodings, ParquetMetadata footer, MessageType columns) {
    for (BlockMetaData block : footer.getBlocks()) {
      for (ColumnChunkMetaData chunk : block.getColumns()) {
        if (!Collections.disjoint(encodings, chunk.getEncodings())
            && columns.containsPath(chunk.getPath().toArray())) {
          return false;
        }
      }
    }
    return true;
  }

  RowGroupDecoder others(int batchRows) {
    return others.like(batchRows);
  }

  MessageType all() {
    return all;
  }

  List<String> flat() {
    return flat;
  }
}
