package io.keylake.spark.parquet;

import io.keylake.spark.engine.RowGroupDecoder;
import io.keylake.tables.kept.Kept;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Set;
import org.apache.parquet.column.Encoding;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ColumnChunkMetaData;
import org.apache.parquet.hadoop.metadata.FileMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.apache.parquet.schema.PrimitiveType.PrimitiveTypeName;
import org.apache.parquet.schema.Type;
import org.apache.parquet.schema.Type.Repetition;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;

/** What decodes the columns of a file, made like that of other files with the same schema. */
final class Decoders {
  private static final int SHARE_OF_HEAP = 128;
  private static final int BYTES_OF_COLUMN = 3000;

  private static final Kept<Shape, Decoders> FIRST =
      Kept.ofHeap(
          SHARE_OF_HEAP,
          (shape, decoders) -> (long) BYTES_OF_COLUMN * (1 + decoders.all.getPaths().size()));

  private final RowGroupDecoder others;
  private final MessageType all;
  private final List<String> texts;

  /**
   * @param others decodes all columns but those of texts
   * @param all columns that are read, as the file has them
   * @param texts for each column its name in the file, if {@link TextColumn} decodes it, or ""
   */
  private Decoders(RowGroupDecoder others, MessageType all, List<String> texts) {
    this.others = others;
    this.all = all;
    this.texts = texts;
  }

  /**
   * @param hasTexts whether texts are written as {@link TextColumn} reads them
   */
  private record Shape(MessageType file, String writer, StructType columns, boolean hasTexts) {}

  static Decoders of(ParquetMetadata footer, FileColumns columns) throws IOException {
    FileMetaData file = footer.getFileMetaData();
    boolean hasTexts = hasNone(TextColumn.NOT_READ, footer, file.getSchema());
    Shape shape = new Shape(file.getSchema(), file.getCreatedBy(), columns.schema(), hasTexts);
    return FIRST.get(
        shape,
        () -> {
          StructType stored = columns.in(file.getSchema());
          return made(footer, stored, texts(file.getSchema(), stored, hasTexts));
        });
  }

  private static Decoders made(ParquetMetadata footer, StructType stored, List<String> texts)
      throws IOException {
    MessageType file = footer.getFileMetaData().getSchema();
    StructType others = new StructType();
    for (int i = 0; i < stored.length(); i++) {
      if (texts.get(i).isEmpty()) {
        others = others.add(stored.fields()[i]);
      }
    }
    RowGroupDecoder decoder = RowGroupDecoder.of(footer, others);
    List<Type> all = new ArrayList<>(decoder.columns().getFields());
    texts.stream().filter(name -> !name.isEmpty()).forEach(name -> all.add(file.getType(name)));
    return new Decoders(decoder, new MessageType(file.getName(), all), texts);
  }

  private static List<String> texts(MessageType file, StructType stored, boolean hasTexts) {
    List<String> texts = new ArrayList<>();
    for (StructField field : stored.fields()) {
      texts.add(
          hasTexts
                  && field.dataType() instanceof StringType
                  && file.containsField(field.name())
                  && isFlat(file.getType(field.name()))
              ? field.name()
              : "");
    }
    return texts;
  }

  private static boolean isFlat(Type type) {
    return type.isPrimitive()
        && type.getRepetition() != Repetition.REPEATED
        && type.asPrimitiveType().getPrimitiveTypeName() == PrimitiveTypeName.BINARY;
  }

  /**
   * Whether Spark's decoder may be told to leave rows out within pages. Of numbers written as
   * differences it then gives wrong ones: after it was asked for none of them, which it does where
   * a gap ends, it begins its page again.
   */
  static boolean skipRows(ParquetMetadata footer, MessageType columns) {
    return hasNone(Set.of(Encoding.DELTA_BINARY_PACKED), footer, columns);
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

  List<String> texts() {
    return texts;
  }
}
