package io.keylake.spark.read.merge;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.Reduction;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.ReadCounters;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Files;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.MetricsConfig;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.data.GenericRecord;
import org.apache.iceberg.data.Record;
import org.apache.iceberg.data.parquet.GenericParquetWriter;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.io.FileAppender;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A keyed table of one bucket whose data files are Parquet in a folder, with the form of format.md:
 * a column that no row of a file carries is not in the file, versions are lags.
 *
 * <p>Its columns are k and l, t, a (long), b (text), c (int) and e (double), which are the group g,
 * d (long, LatestNotNull), m (long, Max) and f (long, First). Rows have a number for each value, as
 * those of the law do.
 */
public final class ParquetTable {
  /** The reductions of leaves that are not reduced to their latest value. */
  public static final Map<String, Reduction> REDUCTIONS =
      Map.of("d", Reduction.LATEST_NOT_NULL, "m", Reduction.MAX, "f", Reduction.FIRST);

  static final List<String> VALUES = List.of("t", "a", "b", "c", "e", "d", "m", "f");

  public final KeyedSchema schema;
  public final Table table;
  private final Path folder;
  private final Map<String, List<StoredRow>> rows = new HashMap<>();

  /** The columns that keys are of. */
  public enum KeyForm {
    NUMBER("long", List.of("k")),
    /** Texts, of which four have the same first 8 bytes. */
    TEXT("string", List.of("k")),
    TEXT_AND_NUMBER("string", List.of("k", "l"));

    private final String type;
    private final List<String> key;

    KeyForm(String type, List<String> key) {
      this.type = type;
      this.key = key;
    }
  }

  /** Files of a folder, by their paths. */
  public static final FileIO DISK =
      new FileIO() {
        @Override
        public InputFile newInputFile(String path) {
          return Files.localInput(path);
        }

        @Override
        public OutputFile newOutputFile(String path) {
          return Files.localOutput(path);
        }

        @Override
        public void deleteFile(String path) {
          throw new UnsupportedOperationException(path);
        }
      };

  /**
   * @param versions with "ordering", t is the ordering column
   */
  public ParquetTable(Path folder, String versions, KeyForm form) {
    this.folder = folder;
    TableDefinition definition = definition(versions, form);
    InMemoryCatalog catalog = new InMemoryCatalog();
    catalog.initialize("memory", Map.of());
    catalog.createNamespace(Namespace.of("shop"));
    Schema columns = definition.icebergSchema();
    this.table =
        catalog
            .buildTable(TableIdentifier.of("shop", "orders"), columns)
            .withPartitionSpec(definition.partitionSpec(columns))
            .withSortOrder(definition.sortOrder(columns))
            .withProperties(definition.properties(Map.of()))
            .create();
    this.schema = KeyedSchema.of(table);
  }

  private static TableDefinition definition(String versions, KeyForm form) {
    Map<String, String> types = Map.of("k", form.type, "b", "string", "c", "int", "e", "double");
    List<String> fields = new ArrayList<>();
    for (String name : List.of("k", "l", "t", "a", "b", "c", "e", "d", "m", "f")) {
      fields.add(
          "{'id': %d, 'name': '%s', 'required': %s, 'type': '%s'}"
              .formatted(
                  fields.size() + 1,
                  name,
                  form.key.contains(name),
                  types.getOrDefault(name, "long")));
    }
    String spec =
        """
        {'spec_version': 1, 'schema': {'type': 'struct', 'fields': %s}, 'key': %s, 'bucket_by': ['k'],
         'partition_by': [], 'buckets': 1, 'versions': '%s', 'ordering': %s,
         'reducers': {'d': {'type': 'LatestNotNull'}, 'm': {'type': 'Max'}, 'f': {'type': 'First'}},
         'column_groups': {'g': {'columns': ['c', 'e']}}}
        """
            .formatted(
                fields,
                form.key.stream().map(name -> "'" + name + "'").toList(),
                versions,
                versions.equals("ordering") ? "'t'" : "null");
    return TableDefinition.fromJson(spec.replace('\'', '"'));
  }

  /** Commits a file with the rows that somebody wrote; those of one key are reduced first. */
  public void commit(List<WrittenRow> written) throws IOException {
    commitFiles(List.of(MergeLaw.history(List.of(written), REDUCTIONS)));
  }

  /** Commits files, each with rows in key order. */
  void commitFiles(List<List<StoredRow>> files) throws IOException {
    List<DataFile> added = new ArrayList<>();
    for (List<StoredRow> file : files) {
      added.add(write(file));
    }
    WriteSummary summary =
        new WriteSummary("apply_changes", 0, null, null, List.of(), WriteLabels.NONE);
    new Commits(table).make(new Append(null, added, summary));
  }

  private DataFile write(List<StoredRow> stored) throws IOException {
    String path = folder.resolve(rows.size() + ".parquet").toString();
    rows.put(path, stored);
    Schema columns = columnsOf(stored);
    FileAppender<Record> appender =
        Parquet.write(Files.localOutput(path))
            .schema(columns)
            .metricsConfig(MetricsConfig.forTable(table))
            .set("write.parquet.page-row-limit", "100") // so that pages are left out
            .createWriterFunc(type -> GenericParquetWriter.create(columns, type))
            .build();
    try (appender) {
      for (StoredRow row : stored) {
        appender.add(record(columns, row));
      }
    }
    Metrics metrics = appender.metrics();
    String bucket = table.spec().fields().get(0).name();
    return org.apache.iceberg.DataFiles.builder(table.spec())
        .withPath(path)
        .withFormat("parquet")
        .withFileSizeInBytes(appender.length())
        .withPartitionPath(bucket + "=0")
        .withMetrics(metrics)
        .withSortOrder(schema.keyOrder(table))
        .build();
  }

  private Schema columnsOf(List<StoredRow> stored) {
    Set<Integer> ids = new HashSet<>(TypeUtil.getProjectedIds(schema.mergeInfo().type()));
    schema.sortKey().forEach(field -> ids.add(field.fieldId()));
    Set<String> carried =
        stored.stream().flatMap(row -> row.cells().keySet().stream()).collect(Collectors.toSet());
    for (NestedField value : schema.values()) {
      if (carried.contains(schema.spec().leafOf(value.name()))) {
        ids.add(value.fieldId());
      }
    }
    return TypeUtil.project(schema.table(), ids);
  }

  private Record record(Schema columns, StoredRow row) {
    Record record = GenericRecord.create(columns);
    for (NestedField field : columns.columns()) {
      String name = field.name();
      if (!name.equals(KeyedSchema.MERGE_INFO)) {
        record.setField(name, typed(field, numberOf(row, name)));
      }
    }
    Record info = GenericRecord.create(schema.mergeInfo().type().asStructType());
    boolean isOrdered =
        schema.ordering() != null && Long.valueOf(row.version()).equals(numberOf(row, "t"));
    info.setField(KeyedSchema.VERSION, isOrdered ? null : Long.valueOf(row.version()));
    info.setField(KeyedSchema.WRITTEN, lag(row, row.written()));
    info.setField(KeyedSchema.DELETED, lag(row, row.deleted()));
    Record leaves = GenericRecord.create(schema.leaves());
    for (NestedField leaf : schema.leaves().fields()) {
      leaves.setField(leaf.name(), lag(row, row.versionOf(leaf.name())));
    }
    info.setField(KeyedSchema.COLUMNS, leaves);
    record.setField(KeyedSchema.MERGE_INFO, info);
    return record;
  }

  private static Long lag(StoredRow row, Long version) {
    return version == null ? null : row.version() - version;
  }

  /** The number of a key or value column of a row; null where the row has none. */
  public Long numberOf(StoredRow row, String column) {
    if (column.equals("k")) {
      return row.key().first();
    }
    if (column.equals("l") && schema.key().size() > 1) {
      return row.key().second();
    }
    Cell cell = row.cells().get(schema.spec().leafOf(column));
    return cell == null ? null : cell.values().get(column.equals("e") ? 1 : 0);
  }

  private static Object typed(NestedField field, Long number) {
    if (number == null) {
      return null;
    }
    return switch (field.type().typeId()) {
      case STRING -> text(number);
      case INTEGER -> number.intValue();
      case DOUBLE -> number.doubleValue();
      default -> number;
    };
  }

  /** A number as a text, in the same order; four have the same first 8 bytes. */
  public static String text(long number) {
    return "%06d of texts %06d".formatted(number / 4, number);
  }

  /** The number that a text was made of. */
  public static long number(String text) {
    return Long.parseLong(text.substring(text.length() - 6));
  }

  /** The last commit of the table. */
  public long head() {
    return table.currentSnapshot().snapshotId();
  }

  /** The rows that a file has. */
  List<StoredRow> rows(String location) {
    return rows.get(location);
  }

  NestedField field(String column) {
    return schema.table().asStruct().field(column);
  }

  /** The plan of a read of these columns. */
  ReadSpec spec(Collection<String> values, Wanted wanted) {
    Set<Integer> ids =
        values.stream().map(name -> field(name).fieldId()).collect(Collectors.toSet());
    return ReadSpec.ofColumns(head(), ids, wanted);
  }

  /** The part of a plan that the one bucket has. */
  BucketPlan plan(ReadSpec spec) {
    return new ReadPlanner(table, schema, spec).plan().buckets().get(0);
  }

  /** The task of a read that gives the key, these columns, and more. */
  ReadTask task(Collection<String> values, OutputColumn... more) {
    List<OutputColumn> output = new ArrayList<>();
    schema.sortKey().forEach(field -> output.add(output(field)));
    new TreeSet<>(values).forEach(name -> output.add(output(field(name))));
    output.addAll(List.of(more));
    ReadTask all = ReadTask.unfiltered(schema, output);
    return new ReadTask(schema, output, all.filters(), true, 7);
  }

  private OutputColumn output(NestedField field) {
    return OutputColumn.of(schema, field, SparkSchemaUtil.convert(field.type()));
  }

  DataFiles files() {
    return new DataFiles(DISK, new ReadCounters());
  }

  public static Key key(long first) {
    return new Key(first, 0);
  }
}
