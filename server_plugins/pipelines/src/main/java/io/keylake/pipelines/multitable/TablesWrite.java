package io.keylake.pipelines.multitable;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.STORE_FAILED;
import static io.keylake.tables.KeylakeException.Kind.UNAVAILABLE;

import io.keylake.pipelines.multitable.TableFiles.Written;
import io.keylake.pipelines.multitable.Targets.Target;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.write.TableWrite;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.NoAnswer;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Function;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * Writes rows of many tables:
 *
 * <ol>
 *   <li>The tables are opened, several at once. One that cannot be is set aside.
 *   <li>One job writes the rows of all others: tasks decode them, one shuffle brings them together
 *       by table and bucket, and each task sorts what it gets by table, key and version, and writes
 *       one file after the other. Few rows that came with the statement are written by the driver,
 *       without a job. A table with a row that is refused is set aside.
 *   <li>The files are committed table by table, several at once. A table whose commit is refused is
 *       set aside.
 * </ol>
 *
 * <p>Of a table that is set aside no row is written; all others do not notice.
 */
public final class TablesWrite {
  private static final StructType ROWS =
      new StructType()
          .add("table", DataTypes.StringType)
          .add("op", DataTypes.StringType)
          .add("version", DataTypes.LongType)
          .add("row", DataTypes.StringType);

  private static final int TABLES_PER_TASK = 8;
  private static final int MOST_TABLES_HERE = 256; // the files of more are worth the tasks
  private static final int TASKS_PER_CORE = 3;
  private static final long BYTES_PER_ROW = 512; // more or less
  private static final long BYTES_WORTH_A_CORE = 1 << 23; // a shuffle costs less than it saves

  private final SparkSession spark;
  private final Function<String, Table> loading;
  private final String operation = UUID.randomUUID().toString();

  /**
   * @param loading the tables, by their names in the rows
   */
  public TablesWrite(SparkSession spark, Function<String, Table> loading) {
    this.spark = spark;
    this.loading = loading;
  }

  /** A table of the write, or why it is none. */
  private record Opened(
      TableBatch batch,
      @Nullable Table table,
      @Nullable TableWrite write,
      @Nullable Target target,
      @Nullable String failure) {}

  /**
   * @param rows with the columns table, op, version and row
   * @param count of the rows, more or less; null where that is not known
   * @return what became of each table in order, then of those that rows name and the write does not
   */
  public List<TableOutcome> write(
      Dataset<Row> rows, List<TableBatch> batches, @Nullable Long count) {
    Map<String, Integer> numbers = numbers(batches);
    Dataset<Row> columns = columns(rows);
    try (TableThreads threads = new TableThreads()) {
      List<Opened> opened = threads.map(batches, this::open);
      Map<Integer, List<Written>> written = new HashMap<>();
      List<TableOutcome> unlisted = new ArrayList<>();
      for (Written each : written(columns, numbers, opened, count, threads)) {
        if (each.name() == null) {
          written.computeIfAbsent(each.table(), number -> new ArrayList<>()).add(each);
        } else if (unlisted.stream().noneMatch(one -> one.table().equals(each.name()))) {
          unlisted.add(new TableOutcome(each.name(), null, null, each.failure()));
        }
      }
      List<Integer> order = new ArrayList<>(numbers.values());
      List<TableOutcome> outcomes =
          new ArrayList<>(
              threads.map(order, i -> commit(opened.get(i), written.getOrDefault(i, List.of()))));
      outcomes.addAll(unlisted);
      return outcomes;
    }
  }

  private static Map<String, Integer> numbers(List<TableBatch> batches) {
    Map<String, Integer> numbers = new LinkedHashMap<>();
    for (TableBatch batch : batches) {
      if (numbers.put(batch.table(), numbers.size()) != null) {
        throw new KeylakeException(
            DEFINITION,
            "table '%s' is there twice in one write; give it once, with all of its offsets"
                .formatted(batch.table()));
      }
    }
    return numbers;
  }

  private static Dataset<Row> columns(Dataset<Row> rows) {
    for (var field : ROWS.fields()) {
      boolean fits =
          List.of(rows.schema().fields()).stream()
              .anyMatch(
                  each ->
                      each.name().equals(field.name()) && each.dataType().equals(field.dataType()));
      if (!fits) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "the frame has no column '%s' of type %s, but %s; rows of many tables have %s"
                .formatted(
                    field.name(), field.dataType().sql(), rows.schema().toDDL(), ROWS.toDDL()));
      }
    }
    return rows.select("table", "op", "version", "row");
  }

  // --------------------------------------------------------------------------------------- tables

  private Opened open(TableBatch batch) {
    try {
      Table table = loading.apply(batch.table());
      table.refresh();
      KeyedSchema schema = KeyedSchema.of(table);
      if (schema.spec().versions() != Versions.EXPLICIT) {
        throw new KeylakeException(
            DEFINITION,
            "table %s has versions='%s', and rows of many tables bring their own; create it with versions=\"explicit\""
                .formatted(
                    batch.table(),
                    schema.spec().versions().name().toLowerCase(java.util.Locale.ROOT)));
      }
      SessionSettings.checkPublishes(spark, table, batch.table());
      TableWrite write = TableWrite.of(spark, table, schema, batch.said(), operation);
      Target target = new Target(batch.table(), schema, write.writers());
      return new Opened(batch, table, write, target, null);
    } catch (RuntimeException e) {
      return new Opened(batch, null, null, null, said(batch.table(), e));
    }
  }

  private static String said(String table, RuntimeException e) {
    if (e instanceof KeylakeException ours) {
      return KeylakeException.line(ours.kind(), ours.sentence());
    }
    if (e instanceof NoSuchTableException || e instanceof NoSuchNamespaceException) {
      return KeylakeException.line(
          NOT_FOUND,
          "there is no table %s any more; its rows were not written; create it, and write them again"
              .formatted(table));
    }
    return KeylakeException.line(
        NoAnswer.in(e).isPresent() ? UNAVAILABLE : STORE_FAILED,
        "the write to %s failed: %s; history() tells whether it was committed; write the rows again with the same offsets, which counts once"
            .formatted(table, String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
  }

  // ---------------------------------------------------------------------------------------- files

  private List<Written> written(
      Dataset<Row> rows,
      Map<String, Integer> numbers,
      List<Opened> opened,
      @Nullable Long count,
      TableThreads threads) {
    List<@Nullable Target> tables = new ArrayList<>();
    opened.forEach(each -> tables.add(each.target()));
    List<InternalRow> few = fewRows(rows, tables, count);
    return few == null
        ? run(rows, new Targets(numbers, tables, tasks(rows, opened.size(), count)))
        : new RowsHere(new Targets(numbers, tables, 1)).write(few, threads);
  }

  /** The rows, where the driver writes them; null where tasks do. */
  private static @Nullable List<InternalRow> fewRows(
      Dataset<Row> rows, List<@Nullable Target> tables, @Nullable Long count) {
    List<KeyedSchema> schemas =
        tables.stream().filter(Objects::nonNull).map(Target::schema).toList();
    if (tables.size() > MOST_TABLES_HERE || (count != null && !TableWrite.areFew(count, schemas))) {
      return null;
    }
    List<InternalRow> here = ClassicSession.rowsAtHand(rows);
    return here != null && TableWrite.areFew(here, ROWS, schemas) ? here : null;
  }

  private List<Written> run(Dataset<Row> rows, Targets forTasks) {
    int tasks = forTasks.tasks();
    Broadcast<Targets> targets =
        JavaSparkContext.fromSparkContext(spark.sparkContext()).broadcast(forTasks);
    try {
      JavaRDD<InternalRow> given = ClassicSession.rows(rows).toJavaRDD();
      JavaRDD<InternalRow> few = tasks == 1 ? given.coalesce(1) : given;
      JavaRDD<InternalRow> routed = few.mapPartitions(some -> new RowRouter(some, targets.value()));
      JavaRDD<InternalRow> moved =
          tasks == 1 ? routed : MovedRows.moved(routed.rdd(), tasks).toJavaRDD();
      return moved.mapPartitions(some -> written(some, targets.value()).iterator()).collect();
    } finally {
      targets.destroy();
    }
  }

  private static List<Written> written(java.util.Iterator<InternalRow> rows, Targets targets) {
    TaskContext task = TaskContext.get();
    return new TableFiles(targets, task.partitionId(), task.taskAttemptId())
        .write(TaskSort.sorted(rows, MovedRows.TYPE, MovedRows.COLUMNS_IN_ORDER));
  }

  /**
   * The number of tasks, as many as there is work for: by files, which have their price, and by
   * bytes.
   */
  private int tasks(Dataset<Row> rows, int tables, @Nullable Long count) {
    long bytes = count == null ? ClassicSession.bytes(rows) : count * BYTES_PER_ROW;
    long filled = count == null ? tables : Math.min(tables, count);
    long byFiles = (filled + TABLES_PER_TASK - 1) / TABLES_PER_TASK;
    long cores = (long) spark.sparkContext().defaultParallelism() * TASKS_PER_CORE;
    long bySize = bytes / SessionSettings.bytesPerTask();
    long byWork = Math.min(bytes / BYTES_WORTH_A_CORE, spark.sparkContext().defaultParallelism());
    long most = Math.max(SessionSettings.shufflePartitions(), 1);
    long wanted = Math.max(Math.min(byFiles, cores), Math.max(bySize, byWork));
    return (int) Math.max(Math.min(wanted, most), 1);
  }

  // -------------------------------------------------------------------------------------- commits

  private TableOutcome commit(Opened opened, List<Written> written) {
    String name = opened.batch().table();
    TableWrite write = opened.write();
    if (write == null) {
      return new TableOutcome(name, null, null, opened.failure());
    }
    List<WriterCommitMessage> files =
        written.stream().map(Written::files).filter(Objects::nonNull).toList();
    String failure =
        written.stream().map(Written::failure).filter(Objects::nonNull).findFirst().orElse(null);
    try {
      if (failure != null) {
        write.abort(files);
      }
      if (failure != null || files.isEmpty()) {
        return new TableOutcome(name, null, null, failure);
      }
      return committed(name, Objects.requireNonNull(opened.table()), write.commit(files));
    } catch (RuntimeException e) {
      return new TableOutcome(
          name, null, null, failure != null ? failure : aborted(opened, files, e));
    }
  }

  private static String aborted(
      Opened opened, List<WriterCommitMessage> files, RuntimeException why) {
    try {
      Objects.requireNonNull(opened.write()).abort(files);
    } catch (RuntimeException e) {
      why.addSuppressed(e);
    }
    return said(opened.batch().table(), why);
  }

  private static TableOutcome committed(String name, Table table, Commits.Result result) {
    CommitLog.Entry commit =
        result
            .commit(table)
            .orElseThrow(() -> new IllegalStateException("the table does not know its commit"));
    return new TableOutcome(
        name, commit, result.isRepeated() ? SourceOffsets.next(table, null) : null, null);
  }
}
