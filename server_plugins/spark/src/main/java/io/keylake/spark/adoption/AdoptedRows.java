package io.keylake.spark.adoption;

import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.engine.StagedFiles;
import io.keylake.tables.adoption.AdoptedCommit;
import io.keylake.tables.adoption.AdoptedTable;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.MetadataColumns;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Rows of a plain table as writes of a keyed one: with a version, and for a commit with what the
 * row does, and a place among those of the same key. They can be read until this is closed.
 *
 * @param sql the name of the plain table in statements
 */
public record AdoptedRows(AdoptedTable adopted, String sql, List<StagedFiles> staged)
    implements Closeable {
  private static final String FILE = MetadataColumns.FILE_PATH.name();
  private static final String LOCATION = "location";
  private static final String POSITION = "position";
  private static final String VERSION = "version";
  private static final String OP = "op";
  private static final String PLACE = "place";

  public static AdoptedRows of(AdoptedTable adopted, String sql) {
    return new AdoptedRows(adopted, sql, new ArrayList<>());
  }

  /** All rows at a commit, each at the number of the commit that wrote its file. */
  public Writing whole(Snapshot commit) {
    List<Row> numbers = new ArrayList<>();
    try (CloseableIterable<FileScanTask> tasks =
        adopted.table().newScan().useSnapshot(commit.snapshotId()).planFiles()) {
      tasks.forEach(
          task ->
              numbers.add(
                  RowFactory.create(task.file().location(), task.file().dataSequenceNumber())));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    String location = unused(LOCATION);
    Dataset<Row> files =
        SparkSession.active()
            .createDataFrame(
                numbers,
                new StructType()
                    .add(location, DataTypes.StringType)
                    .add(unused(VERSION), DataTypes.LongType));
    Dataset<Row> rows = rowsAt(commit);
    Dataset<Row> versioned =
        rows.join(functions.broadcast(files), rows.col(FILE).equalTo(files.col(location)), "left");
    Column[] columns =
        Stream.concat(names(), Stream.of(unused(VERSION)))
            .map(AdoptedRows::column)
            .toArray(Column[]::new);
    return new Writing(
        versioned.select(columns), Map.of("verb", "upsert", "version", unused(VERSION)));
  }

  /**
   * All rows at a commit, with the columns that the table has now. Where the commit is the newest,
   * it is not named: a named one has the columns of its time.
   */
  private Dataset<Row> rowsAt(Snapshot commit) {
    ClassicSession session = ClassicSession.active();
    String all =
        Stream.concat(names(), Stream.of(FILE))
            .map(QuotingUtils::quoteIdentifier)
            .collect(Collectors.joining(", "));
    String statement = "SELECT %s FROM %s".formatted(all, sql);
    Dataset<Row> newest = session.frame(session.parsed(statement));
    adopted.table().refresh();
    return adopted.table().currentSnapshot().snapshotId() == commit.snapshotId()
        ? newest
        : session.frame(
            session.parsed("%s VERSION AS OF %d".formatted(statement, commit.snapshotId())));
  }

  /** The changes of a commit as a write, in which its deletes come before its rows. */
  public Writing of(AdoptedCommit commit) {
    List<Dataset<Row>> parts = new ArrayList<>();
    long number = commit.commit().sequenceNumber();
    if (!commit.upserts().isEmpty()) {
      parts.add(rows(commit.upserts()).select(columns(number, "U", 1)));
    }
    if (!commit.deletes().isEmpty()) {
      parts.add(rows(commit.deletes()).select(columns(number, "D", 0)));
    }
    if (!commit.before().isEmpty()) {
      Dataset<Row> all = places(commit.before());
      Dataset<Row> gone = all;
      if (!commit.after().isEmpty()) {
        Dataset<Row> left = places(commit.after());
        Column isSame =
            Stream.of(unused(LOCATION), unused(POSITION))
                .map(name -> all.col(name).equalTo(left.col(name)))
                .reduce(Column::and)
                .orElseThrow();
        gone = all.join(left, isSame, "left_anti");
      }
      parts.add(gone.select(columns(number, "D", 0)));
    }
    Map<String, String> options = new HashMap<>();
    options.put("verb", "apply_changes");
    options.put("version", unused(VERSION));
    options.put("op", unused(OP));
    options.put("row_order", unused(PLACE));
    return new Writing(parts.stream().reduce(Dataset::union).orElseThrow(), options);
  }

  /** The same without a number as the version: the keyed table has a rule of its own. */
  public Writing withoutVersion(AdoptedCommit commit) {
    Writing writing = of(commit);
    Map<String, String> options = new HashMap<>(writing.options());
    String version = options.remove("version");
    return new Writing(writing.rows().drop(version), options);
  }

  private Dataset<Row> rows(List<FileScanTask> tasks) {
    StagedFiles files = StagedFiles.of(adopted.table(), UUID.randomUUID().toString(), tasks);
    staged.add(files);
    return files.rows();
  }

  /** The keys of rows, and where they lie. */
  private Dataset<Row> places(List<FileScanTask> tasks) {
    Stream<Column> key = adopted.key().stream().map(field -> column(field.name()));
    Stream<Column> place =
        Stream.of(
            column(FILE).as(unused(LOCATION)),
            column(MetadataColumns.ROW_POSITION.name()).as(unused(POSITION)));
    return rows(tasks).select(Stream.concat(key, place).toArray(Column[]::new));
  }

  /** All columns of a write; of a delete only those of the key have values. */
  private Column[] columns(long number, String op, int place) {
    List<Column> columns = new ArrayList<>();
    for (NestedField field : adopted.table().schema().columns()) {
      boolean isThere = op.equals("U") || adopted.key().contains(field);
      columns.add(
          isThere
              ? column(field.name())
              : functions.lit(null).cast(SparkSchemaUtil.convert(field.type())).as(field.name()));
    }
    columns.add(functions.lit(number).as(unused(VERSION)));
    columns.add(functions.lit(op).as(unused(OP)));
    columns.add(functions.lit(place).as(unused(PLACE)));
    return columns.toArray(Column[]::new);
  }

  private Stream<String> names() {
    return adopted.table().schema().columns().stream().map(NestedField::name);
  }

  /** A name that no column of the table has, however names are compared. */
  private String unused(String name) {
    String free = name;
    while (adopted.table().schema().caseInsensitiveFindField(free) != null) {
      free += "_";
    }
    return free;
  }

  private static Column column(String name) {
    return functions.col(QuotingUtils.quoteIdentifier(name));
  }

  @Override
  public void close() {
    staged.forEach(StagedFiles::close);
  }

  /** Rows, and how they are to be written. */
  public record Writing(Dataset<Row> rows, Map<String, String> options) {}
}
