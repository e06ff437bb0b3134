package io.keylake.spark.columnfilters;

import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.CacheKind;
import java.io.IOException;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.filter2.predicate.FilterPredicate;
import org.apache.parquet.hadoop.metadata.BlockMetaData;
import org.apache.parquet.hadoop.metadata.ParquetMetadata;
import org.apache.parquet.schema.MessageType;
import org.jspecify.annotations.Nullable;

/**
 * The filters of keys of a file that is open. The process keeps the parts of filters that were
 * asked; those of a filter that are missing are read in one request.
 *
 * @param file says for good which file it is
 */
public record AskedFile(String file, ColumnFilters filters, Source source) {
  private static final int BYTES_OF_ENTRY = 100;

  private static final BoundedCache<Place, byte[]> PARTS =
      BoundedCache.ofHeap(
          CacheKind.COLUMN_FILTERS,
          (place, part) -> (long) BYTES_OF_ENTRY + place.file().length() + part.length);

  /** The bytes of a file. */
  public interface Source {
    byte[] bytes(long begin, int length) throws IOException;
  }

  private record Place(String file, long begin) {}

  /** The row groups of a file that may have what a predicate wants. */
  public List<BlockMetaData> thatMayHave(ParquetMetadata footer, FilterPredicate predicate) {
    MessageType schema = footer.getFileMetaData().getSchema();
    return footer.getBlocks().stream()
        .filter(group -> predicate.accept(new FilterQuestion(this, group.getOrdinal(), schema)))
        .toList();
  }

  /** The filter of a column in a row group; null where there is none. */
  @Nullable ColumnFilter filter(int rowGroup, int field) {
    for (ColumnFilter each : filters.filters()) {
      if (each.rowGroup() == rowGroup && each.field() == field) {
        return each;
      }
    }
    return null;
  }

  /** A filter has one of some hashes, as far as it can tell. */
  boolean mayHave(ColumnFilter filter, long[] hashes) throws IOException {
    byte[][] parts = parts(filter, hashes);
    for (long hash : hashes) {
      int block = filter.block(hash);
      byte[] part = Objects.requireNonNull(parts[block / ColumnFilter.PART_BYTES]);
      int begin = block % ColumnFilter.PART_BYTES;
      byte[] bits = Arrays.copyOfRange(part, begin, begin + ColumnFilter.BLOCK_BYTES);
      if (new BlockSplitBloomFilter(bits).findHash(hash)) {
        return true;
      }
    }
    return false;
  }

  private @Nullable byte[][] parts(ColumnFilter filter, long[] hashes) throws IOException {
    byte[][] parts = new byte[filter.checksums().size()][];
    int first = parts.length;
    int last = -1;
    for (long hash : hashes) {
      int part = filter.block(hash) / ColumnFilter.PART_BYTES;
      if (parts[part] == null) {
        parts[part] = PARTS.of(place(filter, part));
      }
      if (parts[part] == null) {
        first = Math.min(first, part);
        last = Math.max(last, part);
      }
    }
    if (last >= 0) {
      read(filter, first, last, parts);
    }
    return parts;
  }

  private void read(ColumnFilter filter, int first, int last, @Nullable byte[][] parts)
      throws IOException {
    int begin = first * ColumnFilter.PART_BYTES;
    int length = last * ColumnFilter.PART_BYTES + filter.bytesOf(last) - begin;
    byte[] all = source.bytes(filter.begin() + begin, length);
    for (int part = first; part <= last; part++) {
      int at = part * ColumnFilter.PART_BYTES - begin;
      byte[] one = Arrays.copyOfRange(all, at, at + filter.bytesOf(part));
      filter.check(part, one);
      PARTS.keep(place(filter, part), one);
      parts[part] = one;
    }
  }

  private Place place(ColumnFilter filter, int part) {
    return new Place(file, filter.begin() + (long) part * ColumnFilter.PART_BYTES);
  }
}
