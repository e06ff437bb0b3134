package io.keylake.tables.planning;

import io.keylake.merge.Cell;
import io.keylake.merge.Key;
import io.keylake.merge.MergeLaw;
import io.keylake.merge.Reduction;
import io.keylake.merge.StoredRow;
import io.keylake.merge.WrittenRow;
import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.hashing.BucketHash;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.PartitionField;
import org.apache.iceberg.Table;
import org.apache.iceberg.transforms.Transforms;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A keyed table of longs whose rows lie in memory. Iceberg has real manifests of its files, with
 * the statistics that the rows give, and no files.
 */
public final class MemoryTable {
  /** The leaf of a column that a null does not replace. */
  public static final Map<String, Reduction> REDUCTIONS = Map.of("d", Reduction.LATEST_NOT_NULL);

  public final Table table;
  public KeyedSchema schema;
  private final Map<String, List<StoredRow>> rows;
  private final Map<String, Set<Integer>> superseded; // positions, by the location of deletions
  private final Set<String> withoutStatistics;
  private int commits;

  private MemoryTable(Table table, Set<String> withoutStatistics) {
    this(table, withoutStatistics, new HashMap<>(), new HashMap<>());
  }

  private MemoryTable(
      Table table,
      Set<String> withoutStatistics,
      Map<String, List<StoredRow>> rows,
      Map<String, Set<Integer>> superseded) {
    this.rows = rows;
    this.superseded = superseded;
    this.table = table;
    this.schema = KeyedSchema.of(table);
    this.withoutStatistics = withoutStatistics;
  }

  /**
   * A table with the columns k, l, t, a, b, c, d, e, all of them long; d is LatestNotNull, and c
   * and e are the group g.
   *
   * @param versions with "ordering", t is the ordering column
   * @param withoutStatistics columns and leaves, by full name, that the manifests say nothing of
   */
  public static MemoryTable create(
      String versions, List<String> key, int buckets, Set<String> withoutStatistics) {
    return create(definition(versions, key, List.of(), buckets), withoutStatistics);
  }

  public static MemoryTable create(String versions) {
    return create(versions, List.of("k"), 1, Set.of());
  }

  /** A table with the key k, l whose rows of each l are a partition. */
  public static MemoryTable partitioned(String versions, int buckets) {
    return create(definition(versions, List.of("k", "l"), List.of("l"), buckets), Set.of());
  }

  private static MemoryTable create(TableDefinition definition, Set<String> withoutStatistics) {
    return new MemoryTable(MemoryTables.create(definition), withoutStatistics);
  }

  /** One of {@link #definition()} that is there already. */
  public static MemoryTable of(Table table) {
    return new MemoryTable(table, Set.of());
  }

  /** The same rows as another client reaches the table. */
  public MemoryTable reachedAs(Table other) {
    return new MemoryTable(other, withoutStatistics, rows, superseded);
  }

  /** Of tables with explicit versions and one bucket. */
  public static TableDefinition definition() {
    return definition("explicit", List.of("k"), List.of(), 1);
  }

  /** Of tables whose rows are ordered by t, with one bucket. */
  public static TableDefinition orderedDefinition() {
    return definition("ordering", List.of("k"), List.of(), 1);
  }

  private static TableDefinition definition(
      String versions, List<String> key, List<String> partitionBy, int buckets) {
    List<String> fields = new ArrayList<>();
    for (String name : List.of("k", "l", "t", "a", "b", "c", "d", "e")) {
      fields.add(
          "{'id': %d, 'name': '%s', 'required': %s, 'type': 'long'}"
              .formatted(fields.size() + 1, name, key.contains(name)));
    }
    List<String> bucketBy = key.stream().filter(name -> !partitionBy.contains(name)).toList();
    String spec =
        """
        {'spec_version': 1, 'schema': {'type': 'struct', 'fields': %s}, 'key': %s, 'bucket_by': %s, 'partition_by': %s,
         'buckets': %d, 'versions': '%s', 'ordering': %s,
         'reducers': {'d': {'type': 'LatestNotNull'}}, 'column_groups': {'g': {'columns': ['c', 'e']}}}
        """
            .formatted(
                fields,
                names(key),
                names(bucketBy),
                names(partitionBy),
                buckets,
                versions,
                versions.equals("ordering") ? "'t'" : "null");
    return TableDefinition.fromJson(spec.replace('\'', '"'));
  }

  private static List<String> names(List<String> columns) {
    return columns.stream().map(name -> "'" + name + "'").toList();
  }

  public List<StoredRow> rows(String location) {
    return rows.get(location);
  }

  /** The rows of a file that are not to be left out. */
  List<StoredRow> rows(StoredFile file) {
    Set<Integer> out = new HashSet<>();
    file.superseded().forEach(each -> out.addAll(superseded.get(each.location())));
    List<StoredRow> all = rows.get(file.location());
    return IntStream.range(0, all.size())
        .filter(row -> !out.contains(row))
        .mapToObj(all::get)
        .toList();
  }

  /**
   * The metadata of deletions by which rows of a file are superseded.
   *
   * @param positions of the rows
   */
  public DeleteFile deletions(String name, DataFile of, Set<Integer> positions) {
    superseded.put(name, positions);
    return FileMetadata.deleteFileBuilder(table.specs().get(of.specId()))
        .ofPositionDeletes()
        .withPath(name)
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withRecordCount(positions.size())
        .withPartition(of.partition())
        .withReferencedDataFile(of.location())
        .build();
  }

  public long head() {
    return table.currentSnapshot().snapshotId();
  }

  /** Commits files, each a text of rows; the second file of the third commit is named "3.2". */
  public void commit(String... files) {
    commitRows(Arrays.stream(files).map(this::stored).toList());
  }

  public void make(Change change) {
    if (!new Commits(table).make(change).isCommitted()) {
      throw new AssertionError("nothing was committed: " + change);
    }
  }

  void commitRows(List<List<StoredRow>> files) {
    commits++;
    List<DataFile> added = new ArrayList<>();
    for (List<StoredRow> file : files) {
      added.add(file(commits + "." + (added.size() + 1), file));
    }
    make(new Append(null, added, WriteSummaries.of("update")));
  }

  /**
   * The rows of a text such as {@code 1,3 a b@4 @5; 2 delete @7}: the rows of keys 1 and 3 carry a
   * at version 5 and b at version 4, key 2 is deleted at version 7. Rows that repeat a key are
   * reduced.
   */
  public List<StoredRow> stored(String text) {
    List<WrittenRow> written = new ArrayList<>();
    for (String part : text.split(";")) {
      List<String> words = List.of(part.strip().split(" "));
      long version = Long.parseLong(words.get(words.size() - 1).substring(1));
      Map<String, Cell> cells = new HashMap<>();
      for (String word : words.subList(1, words.size() - 1)) {
        if (!word.equals("delete")) {
          String[] named = word.split("@");
          long at = named.length > 1 ? Long.parseLong(named[1]) : version;
          cells.put(named[0], new Cell(at, named[0].equals("g") ? List.of(at, at) : List.of(at)));
        }
      }
      for (String key : words.get(0).split(",")) {
        Key longs = new Key(Long.parseLong(key), 0);
        written.add(new WrittenRow(longs, version, words.contains("delete"), cells));
      }
    }
    return MergeLaw.history(List.of(written), REDUCTIONS);
  }

  /** The metadata of a file with these rows. */
  public DataFile file(String name, List<StoredRow> stored) {
    rows.put(name, stored);
    Key first = stored.get(0).key();
    List<PartitionField> fields = table.spec().fields();
    String partition = fields.size() > 1 ? "l=" + first.second() + "/" : "";
    partition += fields.get(fields.size() - 1).name() + "=" + bucket(first);
    return DataFiles.builder(table.spec())
        .withPath(name)
        .withFormat("parquet")
        .withFileSizeInBytes(100L * stored.size())
        .withPartitionPath(partition)
        .withMetrics(metrics(stored))
        .withSortOrder(schema.keyOrder(table))
        .build();
  }

  /** Files that are committed from now on lie in so many buckets. */
  public void changeBuckets(int buckets) {
    BucketChange.make(table, buckets);
    schema = KeyedSchema.of(table);
  }

  /**
   * The rows that are there follow a change of the columns, as those of files do by their ids.
   *
   * @param moved the cells of a row, with the names that columns have now
   */
  public void followColumns(UnaryOperator<Map<String, Cell>> moved) {
    table.refresh();
    schema = KeyedSchema.of(table);
    rows.replaceAll(
        (file, stored) ->
            stored.stream()
                .map(
                    row ->
                        new StoredRow(
                            row.key(), row.written(), row.deleted(), moved.apply(row.cells())))
                .toList());
  }

  public int bucket(Key key) {
    int buckets = schema.spec().buckets();
    return schema.hasBucketColumn()
        ? new BucketHash().add(key.first()).add(key.second()).bucket(buckets)
        : Transforms.bucket(buckets).bind(Types.LongType.get()).apply(key.first());
  }

  private Metrics metrics(List<StoredRow> stored) {
    Map<Integer, Long> counts = new HashMap<>();
    Map<Integer, Long> nulls = new HashMap<>();
    Map<Integer, ByteBuffer> lower = new HashMap<>();
    Map<Integer, ByteBuffer> upper = new HashMap<>();
    columns()
        .forEach(
            (field, column) -> {
              List<Long> values =
                  stored.stream().map(column).filter(v -> v != null).sorted().toList();
              counts.put(field.fieldId(), (long) stored.size());
              nulls.put(field.fieldId(), (long) stored.size() - values.size());
              if (!values.isEmpty()) {
                lower.put(field.fieldId(), bytes(field, values.get(0)));
                upper.put(field.fieldId(), bytes(field, values.get(values.size() - 1)));
              }
            });
    return new Metrics((long) stored.size(), null, counts, nulls, null, lower, upper);
  }

  private static ByteBuffer bytes(NestedField field, long value) {
    return field.type().typeId() == Type.TypeID.INTEGER
        ? Conversions.toByteBuffer(field.type(), (int) value)
        : Conversions.toByteBuffer(Types.LongType.get(), value);
  }

  /**
   * What each stored column holds, by format.md: lags behind the row's version, which is left out
   * where t has it.
   */
  private Map<NestedField, Function<StoredRow, Long>> columns() {
    Map<NestedField, Function<StoredRow, Long>> columns = new LinkedHashMap<>();
    columns.put(schema.key().get(0), row -> row.key().first());
    if (schema.key().size() > 1) {
      columns.put(schema.key().get(1), row -> row.key().second());
    }
    for (NestedField value : schema.values()) {
      columns.put(value, row -> value(row, value.name()));
    }
    columns.put(
        schema.version(), row -> isOrderedByItself(row) ? null : Long.valueOf(row.version()));
    columns.put(schema.written(), row -> lag(row, row.written()));
    columns.put(schema.deleted(), row -> lag(row, row.deleted()));
    for (NestedField leaf : schema.leaves().fields()) {
      columns.put(leaf, row -> lag(row, row.versionOf(leaf.name())));
    }
    columns.keySet().removeIf(field -> withoutStatistics.contains(nameOf(field)));
    return columns;
  }

  private String nameOf(NestedField field) {
    return schema.table().findColumnName(field.fieldId());
  }

  private boolean isOrderedByItself(StoredRow row) {
    return schema.ordering() != null && Long.valueOf(row.version()).equals(value(row, "t"));
  }

  private static Long lag(StoredRow row, Long version) {
    return version == null ? null : row.version() - version;
  }

  /** The value of a column, or null. */
  Long value(StoredRow row, String column) {
    String leaf = schema.spec().leafOf(column);
    List<NestedField> columns = schema.valuesByLeaf().get(leaf);
    Cell cell = row.cells().get(leaf);
    return cell == null
        ? null
        : cell.values().get(columns.indexOf(schema.table().findField(column)));
  }
}
