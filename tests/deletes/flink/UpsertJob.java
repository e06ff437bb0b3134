import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.core.execution.JobClient;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.datastream.DataStream;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.apache.iceberg.SingleValueParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.flink.data.RowDataUtil;
import org.apache.iceberg.flink.sink.FlinkSink;
import org.apache.iceberg.flink.util.FlinkCompatibilityUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * A Flink job that upserts the changes of its input into an Iceberg table, by the table's
 * identifier fields.
 *
 * <p>A line of the input is a change: its kind as Flink writes it (+I, +U, -D), a space, and the
 * row as Iceberg's JSON single-value form has a struct, with field ids for names. An empty line
 * ends a commit: the program answers with the id of the snapshot when the table has it, and stays
 * idle until the next one. The end of the input ends the job.
 *
 * <p>Arguments: the catalog's name and URI, the warehouse, the table.
 */
public final class UpsertJob {
  private static final int CHECKPOINT_MILLIS = 200;
  private static final int PARALLELISM = 2;

  // The source runs in this process, but Flink makes a copy of its own of it.
  private static final BlockingQueue<List<RowData>> COMMITS = new LinkedBlockingQueue<>();
  private static final BlockingQueue<Long> CHECKPOINTS = new LinkedBlockingQueue<>();

  /** Emits each commit within one checkpoint, and tells which one that is. */
  private static final class Changes implements SourceFunction<RowData>, CheckpointedFunction {
    private static final long serialVersionUID = 1L;
    private volatile boolean isCancelled;
    private transient boolean isToBeSaved; // read and written with the checkpoint's lock held

    @Override
    public void run(SourceContext<RowData> context) throws InterruptedException {
      while (!isCancelled) {
        List<RowData> commit = COMMITS.poll(10, TimeUnit.MILLISECONDS);
        if (commit != null) {
          synchronized (context.getCheckpointLock()) {
            commit.forEach(context::collect);
            isToBeSaved = true;
          }
        }
      }
    }

    @Override
    public void cancel() {
      isCancelled = true;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {
      if (isToBeSaved) {
        CHECKPOINTS.add(context.getCheckpointId());
        isToBeSaved = false;
      }
    }

    @Override
    public void initializeState(FunctionInitializationContext context) {
      // a job that fails is not started again
    }
  }

  private final Table table;
  private final JobClient job;
  private final CompletableFuture<?> ended;

  private UpsertJob(Table table, JobClient job) {
    this.table = table;
    this.job = job;
    this.ended = job.getJobExecutionResult();
  }

  public static void main(String[] arguments) throws Exception {
    CatalogLoader catalog =
        CatalogLoader.custom(
            arguments[0],
            Map.of("uri", arguments[1], "jdbc.schema-version", "V1", "warehouse", arguments[2]),
            new org.apache.hadoop.conf.Configuration(),
            "org.apache.iceberg.jdbc.JdbcCatalog");
    TableIdentifier name = TableIdentifier.parse(arguments[3]);
    // The sink closes the catalog of its loader.
    Table table = catalog.loadCatalog().loadTable(name);
    UpsertJob upserts = start(table, TableLoader.fromCatalog(catalog, name));
    upserts.readInput();
    upserts.job.cancel().get();
    System.exit(0); // threads of Flink may be left
  }

  private static UpsertJob start(Table table, TableLoader loader) throws Exception {
    Configuration settings = new Configuration();
    settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, settings);
    environment.enableCheckpointing(CHECKPOINT_MILLIS);
    DataStream<RowData> rows =
        environment.addSource(
            new Changes(),
            "changes",
            FlinkCompatibilityUtil.toTypeInfo(FlinkSchemaUtil.convert(table.schema())));
    FlinkSink.forRowData(rows)
        .tableLoader(loader)
        .upsert(true)
        .writeParallelism(PARALLELISM)
        .append();
    return new UpsertJob(table, environment.executeAsync());
  }

  private void readInput() throws Exception {
    BufferedReader input =
        new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    List<RowData> changes = new ArrayList<>();
    for (String line = input.readLine(); line != null; line = input.readLine()) {
      if (!line.isEmpty()) {
        changes.add(change(line));
        continue;
      }
      COMMITS.add(changes);
      changes = new ArrayList<>();
      System.out.println(committed());
    }
  }

  private RowData change(String line) throws IOException {
    int space = line.indexOf(' ');
    String kind = line.substring(0, space);
    StructLike row =
        (StructLike)
            SingleValueParser.fromJson(table.schema().asStruct(), line.substring(space + 1));
    List<NestedField> columns = table.schema().columns();
    GenericRowData change = new GenericRowData(columns.size());
    change.setRowKind(
        Arrays.stream(RowKind.values())
            .filter(each -> each.shortString().equals(kind))
            .findFirst()
            .orElseThrow(() -> new IOException("no kind of a row: " + line)));
    for (int i = 0; i < columns.size(); i++) {
      change.setField(
          i, RowDataUtil.convertConstant(columns.get(i).type(), row.get(i, Object.class)));
    }
    return change;
  }

  /** The snapshot with the changes that were handed in last; waits until the table has it. */
  private long committed() throws Exception {
    Long checkpoint = null;
    while (true) {
      if (ended.isDone()) {
        ended.get(); // says why
        throw new IllegalStateException("the job has ended");
      }
      if (checkpoint == null) {
        checkpoint = CHECKPOINTS.poll(10, TimeUnit.MILLISECONDS);
        continue;
      }
      table.refresh();
      for (Snapshot each : SnapshotUtil.currentAncestors(table)) {
        Map<String, String> summary = each.summary();
        if (job.getJobID().toString().equals(summary.get("flink.job-id"))) {
          if (Long.parseLong(summary.get("flink.max-committed-checkpoint-id")) >= checkpoint) {
            return each.snapshotId();
          }
          break; // the newest of this job
        }
      }
      Thread.sleep(20);
    }
  }
}
