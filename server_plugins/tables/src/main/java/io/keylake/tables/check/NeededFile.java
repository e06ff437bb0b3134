package io.keylake.tables.check;

import io.keylake.tables.FileNames;
import java.io.Serializable;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;

/**
 * A data file, a file of deletes or a file of statistics, with what the table says of it.
 *
 * @param bytes of the file
 * @param specId of its partition; -1 for statistics
 * @param partition its values, the bucket last
 * @param order the data sequence number, which names the commit that wrote its rows
 * @param sortOrder null where the manifest says none
 * @param referenced the data file whose rows it deletes; null where the manifest names none
 * @param begin of a deletion vector in the file; null for other files
 * @param lower the least values of key columns, by field id, as Iceberg stores them
 * @param upper the greatest values of key columns
 */
public record NeededFile(
    FileKind kind,
    FileFormat format,
    String location,
    long bytes,
    long rows,
    int specId,
    List<String> partition,
    long order,
    @Nullable Integer sortOrder,
    @Nullable String referenced,
    @Nullable Long begin,
    Map<Integer, byte[]> lower,
    Map<Integer, byte[]> upper)
    implements Serializable {

  static NeededFile of(ContentFile<?> file, List<NestedField> key) {
    DeleteFile deletes = file instanceof DeleteFile found ? found : null;
    Long order = file.dataSequenceNumber();
    return new NeededFile(
        file.content() == FileContent.DATA ? FileKind.DATA : FileKind.DELETES,
        file.format(),
        file.location(),
        file.fileSizeInBytes(),
        file.recordCount(),
        file.specId(),
        values(file.partition()),
        order == null ? 0 : order,
        file.sortOrderId(),
        deletes == null ? null : ContentFileUtil.referencedDataFileLocation(deletes),
        deletes == null ? null : deletes.contentOffset(),
        bounds(file.lowerBounds(), key),
        bounds(file.upperBounds(), key));
  }

  static NeededFile ofStatistics(String location, long bytes) {
    return new NeededFile(
        FileKind.STATISTICS,
        location.endsWith(".parquet") ? FileFormat.PARQUET : FileFormat.PUFFIN,
        location,
        bytes,
        0,
        -1,
        List.of(),
        0,
        null,
        null,
        null,
        Map.of(),
        Map.of());
  }

  /** The same file in another place. */
  public NeededFile at(String place) {
    return new NeededFile(
        kind,
        format,
        place,
        bytes,
        rows,
        specId,
        partition,
        order,
        sortOrder,
        referenced,
        begin,
        lower,
        upper);
  }

  /** Its name in a list of all: a file can hold deletion vectors of several data files. */
  String id() {
    return begin == null ? location : location + "#" + begin;
  }

  /** The partition as text, the bucket last; empty for a file without one. */
  public String bucket() {
    return String.join("/", partition);
  }

  /** A writer of keylake has named the file: others do not sort by key. */
  public boolean isOfKeylake() {
    return FileNames.isContent(FileNames.of(location));
  }

  private static List<String> values(StructLike partition) {
    return IntStream.range(0, partition.size())
        .mapToObj(i -> String.valueOf(partition.get(i, Object.class)))
        .toList();
  }

  private static Map<Integer, byte[]> bounds(
      @Nullable Map<Integer, ByteBuffer> bounds, List<NestedField> key) {
    Map<Integer, byte[]> found = new HashMap<>();
    for (NestedField field : key) {
      ByteBuffer value = bounds == null ? null : bounds.get(field.fieldId());
      if (value != null) {
        byte[] bytes = new byte[value.remaining()];
        value.duplicate().get(bytes);
        found.put(field.fieldId(), bytes);
      }
    }
    return found;
  }

  @Override
  public boolean equals(@Nullable Object other) {
    return other instanceof NeededFile that && id().equals(that.id());
  }

  @Override
  public int hashCode() {
    return id().hashCode();
  }

  @Override
  public String toString() {
    return Arrays.asList(kind, location, bytes).stream()
        .map(String::valueOf)
        .collect(Collectors.joining(" "));
  }
}
