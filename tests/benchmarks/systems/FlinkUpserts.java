import java.io.File;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.flink.configuration.Configuration;
import org.apache.flink.configuration.RestartStrategyOptions;
import org.apache.flink.runtime.state.FunctionInitializationContext;
import org.apache.flink.runtime.state.FunctionSnapshotContext;
import org.apache.flink.streaming.api.checkpoint.CheckpointedFunction;
import org.apache.flink.streaming.api.environment.StreamExecutionEnvironment;
import org.apache.flink.streaming.api.functions.source.legacy.SourceFunction;
import org.apache.flink.table.data.GenericRowData;
import org.apache.flink.table.data.RowData;
import org.apache.flink.types.RowKind;
import org.apache.iceberg.Files;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.flink.CatalogLoader;
import org.apache.iceberg.flink.FlinkSchemaUtil;
import org.apache.iceberg.flink.TableLoader;
import org.apache.iceberg.flink.data.FlinkParquetReaders;
import org.apache.iceberg.flink.sink.FlinkSink;
import org.apache.iceberg.flink.util.FlinkCompatibilityUtil;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.mapping.MappingUtil;
import org.apache.iceberg.parquet.Parquet;
import org.apache.iceberg.types.Types;

/**
 * Upserts the changes in Parquet files into Iceberg tables, by the sink that Flink's SQL has: one job for each table, in
 * one process.
 *
 * <p>One task reads the files, as their names say, so that a later change of a key comes later; two write. So many files
 * are a commit: they are emitted within one checkpoint, which ends as soon as they are.
 *
 * <p>Arguments: the catalog's name, URI and warehouse, files of a commit, then for each job a table and a folder. A line
 * for each job says its seconds and those of the processors.
 */
public final class FlinkUpserts {
  private static final int CHECKPOINT_MILLIS = 100;
  private static final int PARALLELISM = 2;
  private static final int ID_OF_OP = 1000;

  private static final class Changes implements SourceFunction<RowData>, CheckpointedFunction {
    private static final long serialVersionUID = 1L;
    private final List<String> files;
    private final int filesOfCommit;
    private final Schema columns;
    private volatile boolean isCancelled;
    private volatile boolean isToBeSaved;

    private Changes(List<String> files, int filesOfCommit, Schema columns) {
      this.files = files;
      this.filesOfCommit = filesOfCommit;
      this.columns = columns;
    }

    @Override
    public void run(SourceContext<RowData> context) throws Exception {
      for (int begin = 0; begin < files.size() && !isCancelled; begin += filesOfCommit) {
        synchronized (context.getCheckpointLock()) {
          for (String file : files.subList(begin, Math.min(begin + filesOfCommit, files.size()))) {
            emit(file, context);
          }
          isToBeSaved = true;
        }
        while (isToBeSaved && !isCancelled) {
          Thread.sleep(1);
        }
      }
    }

    private void emit(String file, SourceContext<RowData> context) throws IOException {
      List<Types.NestedField> fields = new ArrayList<>(columns.columns());
      fields.add(Types.NestedField.optional(ID_OF_OP, "op", Types.StringType.get()));
      Schema stored = new Schema(fields);
      int count = columns.columns().size();
      try (CloseableIterable<RowData> rows =
          Parquet.read(Files.localInput(file))
              .project(stored)
              .withNameMapping(MappingUtil.create(stored))
              .createReaderFunc(type -> FlinkParquetReaders.buildReader(stored, type))
              .build()) {
        for (RowData row : rows) {
          GenericRowData given = (GenericRowData) row;
          boolean isDelete = given.getString(count).toString().equals("d");
          GenericRowData change = new GenericRowData(isDelete ? RowKind.DELETE : RowKind.INSERT, count);
          for (int i = 0; i < count; i++) {
            change.setField(i, given.getField(i));
          }
          context.collect(change);
        }
      }
    }

    @Override
    public void cancel() {
      isCancelled = true;
    }

    @Override
    public void snapshotState(FunctionSnapshotContext context) {
      isToBeSaved = false;
    }

    @Override
    public void initializeState(FunctionInitializationContext context) {
      // a job that fails is not started again
    }
  }

  public static void main(String[] arguments) throws Exception {
    CatalogLoader catalog =
        CatalogLoader.custom(
            arguments[0],
            Map.of("uri", arguments[1], "jdbc.schema-version", "V1", "warehouse", arguments[2]),
            new org.apache.hadoop.conf.Configuration(),
            "org.apache.iceberg.jdbc.JdbcCatalog");
    for (int i = 4; i < arguments.length; i += 2) {
      long begun = System.nanoTime();
      Duration before = processorTime();
      run(catalog, TableIdentifier.parse(arguments[i]), arguments[i + 1], Integer.parseInt(arguments[3]));
      System.out.println(
          (System.nanoTime() - begun) / 1e9 + " " + processorTime().minus(before).toMillis() / 1e3);
    }
    System.exit(0); // threads of Flink may be left
  }

  private static Duration processorTime() {
    return ProcessHandle.current().info().totalCpuDuration().orElseThrow();
  }

  private static void run(CatalogLoader catalog, TableIdentifier name, String folder, int filesOfCommit)
      throws Exception {
    Table table = catalog.loadCatalog().loadTable(name);
    List<String> files =
        Arrays.stream(new File(folder).listFiles((in, file) -> file.endsWith(".parquet")))
            .map(File::getPath)
            .sorted()
            .toList();
    Configuration settings = new Configuration();
    settings.set(RestartStrategyOptions.RESTART_STRATEGY, "none");
    StreamExecutionEnvironment environment =
        StreamExecutionEnvironment.createLocalEnvironment(PARALLELISM, settings);
    environment.enableCheckpointing(CHECKPOINT_MILLIS);
    FlinkSink.forRowData(
            environment.addSource(
                new Changes(new ArrayList<>(files), filesOfCommit, table.schema()),
                "changes",
                FlinkCompatibilityUtil.toTypeInfo(FlinkSchemaUtil.convert(table.schema()))))
        .tableLoader(TableLoader.fromCatalog(catalog, name))
        .upsert(true)
        .writeParallelism(PARALLELISM)
        .append();
    environment.execute();
  }
}
