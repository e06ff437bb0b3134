package io.keylake.spark.changes;

import io.keylake.spark.engine.Hash64;
import io.keylake.spark.keys.KeyOrder;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.parquet.RowChoice;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;
import java.util.BitSet;
import java.util.List;
import java.util.Set;
import java.util.function.LongPredicate;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.sketch.BloomFilter;
import org.jspecify.annotations.Nullable;
import org.roaringbitmap.RoaringBitmap;

/**
 * The keys of some files, by which the rows of the same keys are found in others. They are held in
 * order where they are numbers, and else go into a Bloom filter. A key that the filter takes by
 * mistake is taken in each file.
 */
public final class TouchedKeys {
  /** Each costs the pages that it lies in, of all columns. */
  private static final double FALSE_POSITIVES = 1e-6;

  /** Keys that are held as they are, where they are numbers. */
  private static final int MOST_HELD = 2 << 20;

  private static final long SEED = 42;

  private final KeyedSchema schema;
  private final DataFiles files;
  private final FileColumns columns;
  private final DataType[] types;
  private final KeyOrder order;
  private final long[] held; // in order, each once
  private final @Nullable BloomFilter filter; // in place of those that are held

  private TouchedKeys(KeyedSchema schema, List<StoredFile> touching, DataFiles files)
      throws IOException {
    this.schema = schema;
    this.files = files;
    List<NestedField> key = schema.key(); // the group of a row follows from it
    this.columns = FileColumns.of(key, schema, Set.of());
    this.types =
        Arrays.stream(columns.schema().fields())
            .map(StructField::dataType)
            .toArray(DataType[]::new);
    this.order = new KeyOrder(List.of(types));
    long rows = rows(touching);
    boolean isHeld = order.isExact() && key.equals(schema.sortKey()) && rows <= MOST_HELD;
    this.filter = isHeld ? null : BloomFilter.create(Math.max(rows, 1), FALSE_POSITIVES);
    this.held = held(touching, isHeld ? (int) rows : 0);
  }

  private TouchedKeys(TouchedKeys all, long[] held) {
    this.schema = all.schema;
    this.files = all.files;
    this.columns = all.columns;
    this.types = all.types;
    this.order = all.order;
    this.filter = null;
    this.held = held;
  }

  /** The keys of the rows of some files that are not left out there. */
  public static TouchedKeys of(KeyedSchema schema, List<StoredFile> touching, DataFiles files)
      throws IOException {
    return new TouchedKeys(schema, touching, files);
  }

  static long rows(List<StoredFile> files) {
    return files.stream().mapToLong(StoredFile::rows).sum();
  }

  /** The positions of the rows of a file that have one of the keys. */
  public RoaringBitmap rowsIn(StoredFile file) throws IOException {
    RoaringBitmap rows = new RoaringBitmap();
    if (filter == null && held.length == 0) {
      return rows;
    }
    LongPredicate isTouched = search();
    try (KeyReader reader = new KeyReader(file, null, range())) {
      while (reader.next()) {
        for (int row = 0; row < reader.size; row++) {
          if (isTouched.test(reader.keys[row])) {
            rows.add(reader.position(row));
          }
        }
      }
    }
    return rows;
  }

  /**
   * The keys without those that some files have and that are not among others; all of the keys
   * where these are not held, since a filter does not know what it has.
   */
  public TouchedKeys without(List<StoredFile> some, TouchedKeys others) throws IOException {
    if (filter != null || others.filter != null) {
      return this;
    }
    BitSet left = new BitSet();
    left.set(0, held.length);
    for (StoredFile file : some) {
      LongPredicate isOther = others.search();
      try (KeyReader reader = new KeyReader(file, files.shown(file), null)) {
        while (reader.next()) {
          for (int row = 0; row < reader.size; row++) {
            int at = Arrays.binarySearch(held, reader.keys[row]);
            if (!isOther.test(reader.keys[row]) && at >= 0) {
              left.clear(at);
            }
          }
        }
      }
    }
    return new TouchedKeys(this, left.stream().mapToLong(at -> held[at]).toArray());
  }

  /** The stretch in which all keys lie, so that pages beyond it are skipped; null for any. */
  private @Nullable KeySlice range() {
    KeySlice first = filter == null ? KeySlice.at(schema.key().get(0).type(), held[0]) : null;
    if (first == null) {
      return null;
    }
    long last = held[held.length - 1];
    boolean isLargest = last == Integer.MAX_VALUE || last == Long.MAX_VALUE;
    return new KeySlice(first.lower(), isLargest ? null : last + 1);
  }

  /** A search for keys in one file, of which it is asked in order. */
  private LongPredicate search() {
    return filter == null ? new Walk(held) : filter::mightContainLong;
  }

  /** Takes in the keys of files, and gives those that are held. */
  private long[] held(List<StoredFile> touching, int most) throws IOException {
    long[] all = new long[most];
    int count = 0;
    for (StoredFile file : touching) {
      try (KeyReader reader = new KeyReader(file, files.shown(file), null)) {
        while (reader.next()) {
          for (int row = 0; row < reader.size; row++) {
            if (filter == null) {
              all[count++] = reader.keys[row];
            } else {
              filter.putLong(reader.keys[row]);
            }
          }
        }
      }
    }
    return Arrays.stream(all, 0, count).sorted().distinct().toArray();
  }

  /** Goes through keys in order, side by side with whoever asks. */
  private static final class Walk implements LongPredicate {
    private final long[] keys;
    private int next;

    Walk(long[] keys) {
      this.keys = keys;
    }

    @Override
    public boolean test(long key) {
      while (next < keys.length && keys[next] < key) {
        next++;
      }
      return next < keys.length && keys[next] == key;
    }
  }

  /** The keys of a file, batch by batch. */
  private final class KeyReader implements Closeable {
    private final StoredFileReader reader;
    private final long[] keys; // the keys themselves where they are held, or else their hashes
    private final long[] positions;
    private int size;

    /**
     * @param shown positions of the rows that are read; null for all of them
     * @param range of the keys that are wanted; null for all of them
     */
    KeyReader(StoredFile file, @Nullable RoaringBitmap shown, @Nullable KeySlice range)
        throws IOException {
      StoredFileReader.Reading reading =
          new StoredFileReader.Reading(
              columns,
              new RowChoice(FileFilter.NONE, range, schema.key().get(0).fieldId(), false),
              DataFiles.fittingRows(List.of(file), 1, DataFiles.BATCH_ROWS),
              DataFiles.bytesEach(1));
      this.keys = new long[reading.batchRows()];
      this.positions = new long[reading.batchRows()];
      this.reader = new StoredFileReader(files, file, reading, shown, null);
    }

    boolean next() throws IOException {
      ColumnarBatch batch = reader.next();
      if (batch == null) {
        return false;
      }
      size = batch.numRows();
      if (filter == null) {
        order.prefixes(batch.column(0), 0, size, keys);
      } else {
        hash(batch, keys);
      }
      reader.positions(positions);
      return true;
    }

    int position(int row) {
      return (int) positions[row];
    }

    @Override
    public void close() throws IOException {
      reader.close();
    }
  }

  private void hash(ColumnarBatch batch, long[] hashes) {
    for (int column = 0; column < types.length; column++) {
      ColumnVector values = batch.column(column);
      for (int row = 0; row < batch.numRows(); row++) {
        hashes[row] = hash(values, types[column], row, column == 0 ? SEED : hashes[row]);
      }
    }
  }

  private static long hash(ColumnVector values, DataType type, int row, long seed) {
    if (type instanceof StringType) {
      return Hash64.of(values.getUTF8String(row), seed);
    }
    if (type instanceof BinaryType) {
      return Hash64.of(values.getBinary(row), seed);
    }
    if (type instanceof DecimalType decimal) {
      Decimal value = values.getDecimal(row, decimal.precision(), decimal.scale());
      return Hash64.of(value.toJavaBigDecimal().unscaledValue().longValue(), seed);
    }
    if (type instanceof IntegerType || type instanceof DateType) {
      return Hash64.of(values.getInt(row), seed);
    }
    return type instanceof BooleanType
        ? Hash64.of(values.getBoolean(row) ? 1 : 0, seed)
        : Hash64.of(values.getLong(row), seed);
  }
}
