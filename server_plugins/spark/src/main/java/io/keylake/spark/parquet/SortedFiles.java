package io.keylake.spark.parquet;

import io.keylake.spark.columnfilters.WrittenFilters;
import io.keylake.spark.integrity.CheckedFooter;
import io.keylake.spark.integrity.ChecksummedOutput;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Closeable;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileFormat;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.encryption.EncryptedOutputFile;
import org.apache.iceberg.formats.FormatModelRegistry;
import org.apache.iceberg.io.DataWriter;
import org.apache.iceberg.io.OutputFileFactory;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Data files of a table, written one after the other: rows come in (partition, sort key) order,
 * without a key twice, as the table stores them.
 */
public final class SortedFiles implements Closeable {
  private static final Logger LOG = LoggerFactory.getLogger(SortedFiles.class);

  private static final int ROWS_BETWEEN_LENGTH_CHECKS = 1000;
  private static final long MOST_BYTES_HELD = 4 << 20;
  private static final int LONGEST_FOLDER = 200; // file systems take names of at most 255 bytes

  private final Table table;
  private final PartitionSpec spec;
  private final Schema stored;
  private final StructType storedType;
  private final OutputFileFactory places;
  private final MetricsConfig metrics;
  private final SortOrder order;
  private final long targetFileSize;
  private final Set<Integer> absent;
  private final List<NestedField> key; // columns of which files have filters
  private final List<NestedField> indexed; // other columns of which files have filters
  private final List<DataFile> done = new ArrayList<>();
  private final List<InternalRow> first = new ArrayList<>(); // of the next file, until it is begun
  private long bytesOfFirst;
  private @Nullable StructLike partition; // of these
  private @Nullable DataWriter<InternalRow> writer;
  private WrittenFilters filters; // of the file at hand
  private @Nullable String location; // of the file at hand
  private long rows;

  /**
   * @param schema its bucket count is that of the files: the table may have more by now
   * @param stored the columns of the files; versions that are null in all rows may be left out
   * @param targetFileSize in bytes; a file that has reached it is followed by another
   */
  public SortedFiles(
      Table table,
      KeyedSchema schema,
      Schema stored,
      OutputFileFactory places,
      long targetFileSize) {
    this.table = table;
    this.spec = BucketCounts.of(table).spec(schema.spec().buckets());
    this.stored = withoutEmptyStructs(stored);
    this.storedType = SparkSchemaUtil.convert(this.stored);
    this.places = places;
    this.targetFileSize = targetFileSize;
    Map<String, String> properties = new HashMap<>(table.properties());
    // Planning lives from these statistics, so they are exact whatever the table's metrics defaults
    // are.
    schema
        .exactStatistics()
        .forEach(
            name -> properties.put(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + name, "full"));
    schema
        .countedStatistics()
        .forEach(
            name ->
                properties.put(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX + name, "counts"));
    this.absent =
        Stream.of(
                List.of(schema.written(), schema.deleted()),
                schema.leaves().fields(),
                schema.states().fields())
            .flatMap(List::stream)
            .map(NestedField::fieldId)
            .filter(id -> stored.findField(id) == null)
            .collect(Collectors.toSet());
    this.order = schema.keyOrder(table);
    this.metrics = MetricsConfig.from(properties, table.schema(), order);
    this.key = ValueIndexes.key(table.properties(), schema);
    this.indexed = ValueIndexes.values(table.properties(), schema);
    this.filters = new WrittenFilters(key, indexed, this.stored);
  }

  /** Files of a table that is not keyed: all of their columns are shown. */
  private SortedFiles(Table table, OutputFileFactory places, long targetFileSize) {
    this.table = table;
    this.spec = table.spec();
    this.stored = table.schema();
    this.storedType = SparkSchemaUtil.convert(stored);
    this.places = places;
    this.targetFileSize = targetFileSize;
    this.absent = Set.of();
    this.order = table.sortOrder();
    this.metrics = MetricsConfig.from(table.properties(), stored, order);
    this.key = List.of();
    this.indexed = List.of();
    this.filters = new WrittenFilters(key, indexed, stored);
  }

  /**
   * Files of a plain table without partitions.
   *
   * @param targetFileSize in bytes; a file that has reached it is followed by another
   */
  public static SortedFiles ofPlain(Table table, OutputFileFactory places, long targetFileSize) {
    return new SortedFiles(table, places, targetFileSize);
  }

  private SortedFiles(SortedFiles like, OutputFileFactory places) {
    this.table = like.table;
    this.spec = like.spec;
    this.stored = like.stored;
    this.storedType = like.storedType;
    this.places = places;
    this.metrics = like.metrics;
    this.order = like.order;
    this.targetFileSize = like.targetFileSize;
    this.absent = like.absent;
    this.key = like.key;
    this.indexed = like.indexed;
    this.filters = new WrittenFilters(key, indexed, stored);
  }

  /** Others of the same form, which are written at the same time. */
  public SortedFiles beside(OutputFileFactory others) {
    return new SortedFiles(this, others);
  }

  /**
   * Parquet has no structs without members: a table that is all key has no column whose version
   * could be stored. They are the last members of theirs, so that those before keep their places.
   */
  private static Schema withoutEmptyStructs(Schema schema) {
    return new Schema(withMembers(schema.columns()), schema.identifierFieldIds());
  }

  private static List<NestedField> withMembers(List<NestedField> fields) {
    List<NestedField> kept = new ArrayList<>();
    for (NestedField field : fields) {
      if (!field.type().isStructType()) {
        kept.add(field);
        continue;
      }
      List<NestedField> members = withMembers(field.type().asStructType().fields());
      if (!members.isEmpty()) {
        kept.add(NestedField.from(field).ofType(Types.StructType.of(members)).build());
      }
    }
    return kept;
  }

  /**
   * Fills a row that is written from one of a batch, which gives any value for a null: the writer
   * asks for values only.
   */
  public static void fill(Object[] values, InternalRow row, StructField[] types) {
    for (int i = 0; i < values.length; i++) {
      values[i] = row.isNullAt(i) ? null : row.get(i, types[i].dataType());
    }
  }

  /**
   * Adds a row to the file at hand, or begins one in this partition.
   *
   * @param partition null in a table without partitions
   */
  public void write(@Nullable StructLike partition, InternalRow row) throws IOException {
    if (rows % ROWS_BETWEEN_LENGTH_CHECKS == 0
        && writer != null
        && writer.length() >= targetFileSize) {
      finishFile();
    }
    if (writer == null) {
      this.partition = partition;
      hold(row);
    } else {
      add(writer, row);
    }
    rows++;
  }

  /** Holds the first rows of a file, since they decide how it is written. */
  private void hold(InternalRow row) {
    first.add(row.copy());
    bytesOfFirst += PageRows.bytes(row, storedType);
    if (first.size() == Dictionaries.ROWS || bytesOfFirst > MOST_BYTES_HELD) {
      begin(false);
    }
  }

  /**
   * @param areAll whether the rows that are held are all of the file
   */
  private void begin(boolean areAll) {
    DataWriter<InternalRow> begun = open(partition, areAll);
    writer = begun;
    first.forEach(row -> add(begun, row));
    first.clear();
    bytesOfFirst = 0;
  }

  private void add(DataWriter<InternalRow> file, InternalRow row) {
    try {
      file.write(row);
      filters.add(row);
    } catch (RuntimeException e) {
      throw StoreFailure.writing(table.name(), e);
    }
  }

  private DataWriter<InternalRow> open(@Nullable StructLike partition, boolean areAll) {
    try {
      return opened(partition, areAll);
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.writing(table.name(), e);
    }
  }

  private DataWriter<InternalRow> opened(@Nullable StructLike partition, boolean areAll)
      throws IOException {
    filters = new WrittenFilters(key, indexed, stored);
    EncryptedOutputFile file = ChecksummedOutput.of(place(places, spec, partition), filters);
    location = file.encryptingOutputFile().location();
    Map<String, String> properties = new HashMap<>(table.properties());
    PageRows.limit(first.get(0), storedType).forEach(properties::putIfAbsent);
    properties.computeIfPresent(
        TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
        (name, bytes) -> String.valueOf(PageRows.groupBytes(Long.parseLong(bytes), storedType)));
    Dictionaries.leftOut(first, areAll, stored).forEach(properties::putIfAbsent);
    // Parquet's own writer would make filters as large as they may become.
    Stream.concat(key.stream(), indexed.stream())
        .forEach(field -> properties.put(ValueIndexes.PREFIX + field.name(), "false"));
    return EmptyConfiguration.during(
            () ->
                FormatModelRegistry.<InternalRow, StructType>dataWriteBuilder(
                    FileFormat.PARQUET, InternalRow.class, file))
        .setAll(properties)
        .meta(
            CheckedFooter.NOTED_NAME, CheckedFooter.nameOf(file.encryptingOutputFile().location()))
        .metricsConfig(metrics)
        .schema(stored)
        .engineSchema(storedType)
        .spec(spec)
        .partition(partition)
        .keyMetadata(file.keyMetadata())
        .sortOrder(order)
        .build();
  }

  /** Folders tell people where files belong; one whose name would be too long is left out. */
  public static EncryptedOutputFile place(
      OutputFileFactory places, PartitionSpec spec, @Nullable StructLike partition) {
    return partition != null && spec.partitionToPath(partition).length() <= LONGEST_FOLDER
        ? places.newOutputFile(spec, partition)
        : places.newOutputFile();
  }

  /** The partitioning of the files. */
  public PartitionSpec spec() {
    return spec;
  }

  /** Ends the file at hand: the next row lies in another partition, or beyond a gap. */
  public void finishFile() throws IOException {
    if (!first.isEmpty()) {
      begin(true);
    }
    if (writer != null) {
      try {
        writer.close();
      } catch (IOException | RuntimeException e) {
        throw StoreFailure.writing(table.name(), e);
      }
      done.add(withAbsent(writer.toDataFile()));
      writer = null;
      location = null;
    }
  }

  /**
   * The file with counts of the versions that it has no column for: that they are null in each row
   * is said by its manifest, as of those that it has.
   */
  private DataFile withAbsent(DataFile file) {
    if (absent.isEmpty()) {
      return file;
    }
    Map<Integer, Long> values = new HashMap<>(file.valueCounts());
    Map<Integer, Long> nulls = new HashMap<>(file.nullValueCounts());
    absent.forEach(id -> values.put(id, file.recordCount()));
    absent.forEach(id -> nulls.put(id, file.recordCount()));
    return org.apache.iceberg.DataFiles.builder(spec)
        .copy(file)
        .withMetrics(
            new Metrics(
                file.recordCount(),
                file.columnSizes(),
                values,
                nulls,
                file.nanValueCounts(),
                file.lowerBounds(),
                file.upperBounds()))
        .build();
  }

  /** Ends the last file. */
  public DataFile[] finish() throws IOException {
    finishFile();
    return done.toArray(DataFile[]::new);
  }

  /** Deletes what was written. Whatever fails here, the failure before it is the one to tell. */
  public void abort() {
    first.clear();
    List<String> written = new ArrayList<>(done.stream().map(DataFile::location).toList());
    if (location != null) {
      written.add(location);
    }
    try {
      close();
    } catch (IOException | RuntimeException e) {
      LOG.debug("A file that is deleted could not be closed: {}", location, e);
    }
    writer = null;
    location = null;
    done.clear();
    for (String each : written) {
      try {
        table.io().deleteFile(each);
      } catch (RuntimeException e) {
        LOG.warn(
            "A file of rows that were not committed is left, until the table is cleaned: {}",
            each,
            e);
      }
    }
  }

  @Override
  public void close() throws IOException {
    if (writer != null) {
      writer.close();
    }
  }
}
