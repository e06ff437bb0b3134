package io.keylake.spark.changes;

import io.keylake.spark.engine.Hash64;
import io.keylake.spark.keys.KeyOrder;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.RowChoice;
import io.keylake.spark.parquet.StoredFileReader;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.planning.ChangePlan.Stretch;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.LongPredicate;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.apache.iceberg.DeleteFile;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.util.sketch.BloomFilter;
import org.roaringbitmap.RoaringBitmap;

/**
 * Finds, in the files of a stretch, the rows whose key was written in the range of a change feed,
 * where these are few:
 *
 * <ol>
 *   <li>The keys of the files that the range has touched are held in order where they are numbers,
 *       and else go into a Bloom filter.
 *   <li>The keys of the other files are read, once, and looked for there.
 *   <li>A key that the filter takes by mistake does no harm: all of its rows are read, before and
 *       after, and come out equal. Nor do small files that are read whole, if nothing was merged or
 *       settled in between: of a key that was not written, the same rows are read before and after.
 * </ol>
 */
final class TouchedRows {
  /**
   * The largest share of the rows of a stretch. Beyond that, skipping among them costs more than
   * reading.
   */
  private static final double MOST_TOUCHED = 0.1;

  /** Rows of a file; one that has fewer is read faster than opened twice. */
  private static final int FEW_ROWS = 16 * 1024;

  /** Each costs the pages that it lies in, of all columns. */
  private static final double FALSE_POSITIVES = 1e-6;

  /** Touched keys that are held as they are, where they are numbers. */
  private static final int MOST_HELD = 2 << 20;

  private static final long SEED = 42;

  private final KeyedSchema schema;
  private final List<DataType> types;
  private final DataFiles files;
  private final KeyOrder order;
  private final boolean isHeld;

  private TouchedRows(ReadTask task, DataFiles files, long touched) {
    this.schema = task.schema();
    this.types = task.keyTypes();
    this.files = files;
    this.order = new KeyOrder(types);
    this.isHeld = order.isExact() && touched <= MOST_HELD;
  }

  /**
   * The positions of the rows, by the locations of the files that are not touched themselves; empty
   * where it is not worth it, so that all rows are read.
   */
  static Map<String, RoaringBitmap> find(ReadTask task, Stretch stretch, DataFiles files)
      throws IOException {
    Map<String, StoredFile> before = files(stretch.before(), stretch.touching());
    Map<String, StoredFile> after = files(stretch.after(), stretch.touching());
    boolean isAsBefore = facts(before).equals(facts(after));
    Map<String, StoredFile> others = new LinkedHashMap<>(before);
    others.putAll(after);
    long touched = rows(stretch.touching());
    if (touched > MOST_TOUCHED * rows(List.copyOf(others.values()))) {
      return Map.of();
    }
    TouchedRows keys = new TouchedRows(task, files, touched);
    Supplier<LongPredicate> search = keys.search(stretch.touching(), touched);
    Map<String, RoaringBitmap> found = new HashMap<>();
    for (StoredFile file : others.values()) {
      if (isAsBefore && file.rows() < FEW_ROWS) {
        continue;
      }
      RoaringBitmap rows = new RoaringBitmap();
      LongPredicate isTouched = search.get();
      keys.each(
          file,
          (position, key) -> {
            if (isTouched.test(key)) {
              rows.add(position);
            }
          });
      found.put(file.location(), rows);
    }
    return found;
  }

  /** The files by their locations, without those that are touched. */
  private static Map<String, StoredFile> files(
      List<SectionPlan> sections, List<StoredFile> touching) {
    Map<String, StoredFile> found = new LinkedHashMap<>();
    sections.stream()
        .flatMap(section -> section.runs().stream().flatMap(List::stream))
        .forEach(file -> found.put(file.location(), file));
    touching.forEach(file -> found.remove(file.location()));
    return found;
  }

  /** The locations of the files, each with those of the files that name its superseded rows. */
  private static Map<String, Set<String>> facts(Map<String, StoredFile> files) {
    Map<String, Set<String>> facts = new HashMap<>();
    files.forEach(
        (location, file) ->
            facts.put(
                location,
                file.superseded().stream().map(DeleteFile::location).collect(Collectors.toSet())));
    return facts;
  }

  private static long rows(List<StoredFile> files) {
    return files.stream().mapToLong(StoredFile::rows).sum();
  }

  /**
   * The search for touched keys, which each file gets from its beginning: it is asked of the keys
   * of a file in order.
   */
  private Supplier<LongPredicate> search(List<StoredFile> touching, long touched)
      throws IOException {
    if (!isHeld) {
      BloomFilter filter = BloomFilter.create(Math.max(touched, 1), FALSE_POSITIVES);
      for (StoredFile file : touching) {
        each(file, (position, key) -> filter.putLong(key));
      }
      return () -> filter::mightContainLong;
    }
    long[] keys = new long[(int) touched];
    int first = 0;
    for (StoredFile file : touching) {
      int begin = first;
      first += each(file, (position, key) -> keys[begin + position] = key);
    }
    Arrays.sort(keys, 0, first);
    int count = first;
    return () -> new Walk(keys, count);
  }

  /** Goes through keys in order, side by side with whoever asks. */
  private static final class Walk implements LongPredicate {
    private final long[] keys;
    private final int count;
    private int next;

    Walk(long[] keys, int count) {
      this.keys = keys;
      this.count = count;
    }

    @Override
    public boolean test(long key) {
      while (next < count && keys[next] < key) {
        next++;
      }
      return next < count && keys[next] == key;
    }
  }

  private interface Key {
    /**
     * @param key as a number: the key itself where they are held, or else its hash
     */
    void at(int position, long key);
  }

  /** Shows all keys of a file, and says how many they are. */
  private int each(StoredFile file, Key key) throws IOException {
    StoredFileReader.Reading reading =
        new StoredFileReader.Reading(
            FileColumns.of(schema.sortKey(), schema, Set.of()),
            RowChoice.ALL,
            DataFiles.fittingRows(List.of(file), 1, DataFiles.BATCH_ROWS),
            DataFiles.bytesEach(1));
    int position = 0;
    long[] keys = new long[reading.batchRows()];
    try (StoredFileReader reader = new StoredFileReader(files, file, reading, null, null)) {
      for (ColumnarBatch batch = reader.next(); batch != null; batch = reader.next()) {
        if (isHeld) {
          order.prefixes(batch.column(0), 0, batch.numRows(), keys);
        } else {
          hash(batch, keys);
        }
        for (int row = 0; row < batch.numRows(); row++) {
          key.at(position++, keys[row]);
        }
      }
    }
    return position;
  }

  private void hash(ColumnarBatch batch, long[] hashes) {
    for (int column = 0; column < types.size(); column++) {
      ColumnVector values = batch.column(column);
      DataType type = types.get(column);
      for (int row = 0; row < batch.numRows(); row++) {
        hashes[row] = hash(values, type, row, column == 0 ? SEED : hashes[row]);
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
