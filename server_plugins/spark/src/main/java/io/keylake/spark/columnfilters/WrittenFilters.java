package io.keylake.spark.columnfilters;

import io.keylake.spark.integrity.BytesBeforeFooter;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import org.apache.iceberg.Schema;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.format.BloomFilterAlgorithm;
import org.apache.parquet.format.BloomFilterCompression;
import org.apache.parquet.format.BloomFilterHash;
import org.apache.parquet.format.BloomFilterHeader;
import org.apache.parquet.format.ColumnChunk;
import org.apache.parquet.format.ColumnMetaData;
import org.apache.parquet.format.FileMetaData;
import org.apache.parquet.format.KeyValue;
import org.apache.parquet.format.RowGroup;
import org.apache.parquet.format.SplitBlockAlgorithm;
import org.apache.parquet.format.Uncompressed;
import org.apache.parquet.format.Util;
import org.apache.parquet.format.XxHash;
import org.apache.spark.sql.catalyst.InternalRow;
import org.jspecify.annotations.Nullable;

/**
 * Hashes of the keys of a file, and of values that have an index, while it is written. Its filters
 * are made of them at its end.
 *
 * <p>Parquet's own writer makes a filter as large as it may become, since it does not know how many
 * rows follow. Here the rows of a row group are counted by then:
 *
 * <ol>
 *   <li>A filter has 8 bits for each row, and up to twice as many, since its size is a power of
 *       two: one of 40 to 1,000 keys that are not there is taken for one that is.
 *   <li>A column that has the same values again and again gets a smaller one: it is folded as long
 *       as two fifths of its bits stay free.
 * </ol>
 */
public final class WrittenFilters implements BytesBeforeFooter {
  /** The bounds of keys of a file with fewer rows say nearly as much: it is sorted by them. */
  private static final int LEAST_ROWS = 16;

  /** Hashes are held until the file ends, and take 32 MiB then. */
  private static final int MOST_ROWS = 4 << 20;

  private static final int BYTES_OF_ROW = 1;
  private static final double MOST_FILLED = 0.6;
  private static final int FIRST_ROWS = 1024;

  /** Hashes of all columns; beyond that, those of the key alone are held. */
  private static final int MOST_HASHES = 2 * MOST_ROWS;

  private final List<Column> columns = new ArrayList<>();
  private int rows;

  private static final class Column {
    private final NestedField field;
    private final int place;
    private final ValueHash hash;
    private final boolean isOfKey;
    private final BitSet nulls = new BitSet();
    private long[] hashes = new long[FIRST_ROWS];

    Column(NestedField field, int place, ValueHash hash, boolean isOfKey) {
      this.field = field;
      this.place = place;
      this.hash = hash;
      this.isOfKey = isOfKey;
    }

    void add(InternalRow row, int number) {
      if (number == hashes.length) {
        hashes = Arrays.copyOf(hashes, 2 * number);
      }
      if (row.isNullAt(place)) {
        nulls.set(number);
      } else {
        hashes[number] = hash.of(row, place);
      }
    }
  }

  /**
   * @param key columns
   * @param indexed other columns, of which files may have none
   * @param stored the columns of the file
   */
  public WrittenFilters(List<NestedField> key, List<NestedField> indexed, Schema stored) {
    key.forEach(field -> add(field, stored, true));
    indexed.forEach(field -> add(field, stored, false));
  }

  private void add(NestedField field, Schema stored, boolean isOfKey) {
    ValueHash hash = ValueHash.of(field.type());
    List<Integer> ids = stored.columns().stream().map(NestedField::fieldId).toList();
    int place = ids.indexOf(field.fieldId());
    if (hash != null && place >= 0) {
      columns.add(new Column(field, place, hash, isOfKey));
    }
  }

  /** Adds the next row of the file. */
  public void add(InternalRow row) {
    if (rows < MOST_ROWS) {
      if ((long) (rows + 1) * columns.size() > MOST_HASHES) {
        columns.removeIf(column -> !column.isOfKey);
      }
      for (Column column : columns) {
        column.add(row, rows);
      }
    } else {
      columns.clear(); // no filter is made of so many
    }
    rows++;
  }

  @Override
  public byte[] bytes(FileMetaData footer, long begin, int crcOfIndexes) throws IOException {
    if (rows > MOST_ROWS || rows != footer.getNum_rows()) {
      return new byte[0];
    }
    if (rows < LEAST_ROWS) {
      columns.removeIf(column -> column.isOfKey);
    }
    ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    List<ColumnFilter> filters = new ArrayList<>();
    int first = 0;
    for (int group = 0; group < footer.getRow_groupsSize(); group++) {
      RowGroup rowGroup = footer.getRow_groups().get(group);
      int end = Math.toIntExact(first + rowGroup.getNum_rows());
      for (Column column : columns) {
        ColumnMetaData chunk = chunk(rowGroup, column.field.name());
        if (chunk != null && !chunk.isSetBloom_filter_offset()) { // by a property of the table
          byte[] blocks = blocks(column, first, end);
          long at = begin + bytes.size();
          Util.writeBloomFilterHeader(header(blocks), bytes);
          filters.add(ColumnFilter.of(group, column.field.fieldId(), begin + bytes.size(), blocks));
          bytes.write(blocks);
          chunk.setBloom_filter_offset(at);
          chunk.setBloom_filter_length(Math.toIntExact(begin + bytes.size() - at));
        }
      }
      first = end;
    }
    if (!filters.isEmpty()) {
      ColumnFilters all = new ColumnFilters(begin, crcOfIndexes, filters);
      footer.addToKey_value_metadata(new KeyValue(ColumnFilters.NAME).setValue(all.asJson()));
    }
    return bytes.toByteArray();
  }

  private static @Nullable ColumnMetaData chunk(RowGroup rowGroup, String column) {
    for (ColumnChunk chunk : rowGroup.getColumns()) {
      if (chunk.getMeta_data().getPath_in_schema().equals(List.of(column))) {
        return chunk.getMeta_data();
      }
    }
    return null;
  }

  private static BloomFilterHeader header(byte[] blocks) {
    return new BloomFilterHeader(
        blocks.length,
        BloomFilterAlgorithm.BLOCK(new SplitBlockAlgorithm()),
        BloomFilterHash.XXHASH(new XxHash()),
        BloomFilterCompression.UNCOMPRESSED(new Uncompressed()));
  }

  private static byte[] blocks(Column column, int first, int end) throws IOException {
    // Of a size that is no power of two the next one is taken.
    BlockSplitBloomFilter filter = new BlockSplitBloomFilter((end - first) * BYTES_OF_ROW);
    for (int i = first; i < end; i++) {
      if (!column.nulls.get(i)) {
        filter.insertHash(column.hashes[i]);
      }
    }
    ByteArrayOutputStream blocks = new ByteArrayOutputStream(filter.getBitsetSize());
    filter.writeTo(blocks);
    byte[] smallest = blocks.toByteArray();
    while (smallest.length > ColumnFilter.BLOCK_BYTES) {
      byte[] folded = folded(smallest);
      if (filled(folded) > MOST_FILLED) {
        break;
      }
      smallest = folded;
    }
    return smallest;
  }

  /** The same filter in half as many blocks: a block is chosen by the first bits of a hash. */
  private static byte[] folded(byte[] blocks) {
    byte[] half = new byte[blocks.length / 2];
    for (int i = 0; i < half.length; i++) {
      int block = i / ColumnFilter.BLOCK_BYTES;
      int left = block * ColumnFilter.BLOCK_BYTES + i;
      half[i] = (byte) (blocks[left] | blocks[left + ColumnFilter.BLOCK_BYTES]);
    }
    return half;
  }

  private static double filled(byte[] blocks) {
    long bits = 0;
    for (byte each : blocks) {
      bits += Integer.bitCount(each & 0xff);
    }
    return (double) bits / ((long) blocks.length * Byte.SIZE);
  }
}
