package io.keylake.spark.engine;

import static io.keylake.tables.KeylakeException.Kind.UNAVAILABLE;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.expressions.Expression;
import org.apache.spark.SparkEnv;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.AnalysisException;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LocalRelation;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.connector.catalog.Table;
import org.apache.spark.sql.execution.CacheManager;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.apache.spark.sql.execution.QueryExecution;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.arrow.ArrowConverters$;
import org.apache.spark.sql.execution.datasources.SparkExpressionConverter;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.storage.BlockData;
import org.apache.spark.storage.BlockManager;
import org.apache.spark.storage.CacheId;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.math.BigInt;

/**
 * A session of the server, which can do more with plans. The public session has no such methods.
 */
@GuestApi
public final class ClassicSession {
  private final org.apache.spark.sql.classic.SparkSession session;

  private ClassicSession(SparkSession session) {
    this.session = (org.apache.spark.sql.classic.SparkSession) session;
  }

  /**
   * @param session of the server that the plug-in runs in
   */
  public static ClassicSession of(SparkSession session) {
    return new ClassicSession(session);
  }

  /** The session of the statement that this thread runs. */
  public static ClassicSession active() {
    return of(SparkSession.active());
  }

  public CatalogManager catalogs() {
    return session.sessionState().catalogManager();
  }

  /** The namespace in use, if it is one of a catalog; none otherwise. */
  public List<String> namespace(String catalog) {
    CatalogManager catalogs = catalogs();
    return catalogs.currentCatalog().name().equals(catalog)
        ? List.of(catalogs.currentNamespace())
        : List.of();
  }

  /** A name with its catalog and namespace, as Spark would find what it names. */
  public List<String> fullName(List<String> parts) {
    CatalogManager catalogs = catalogs();
    if (parts.size() > 1 && catalogs.isCatalogRegistered(parts.get(0))) {
      return parts;
    }
    List<String> full = new ArrayList<>(List.of(catalogs.currentCatalog().name()));
    if (parts.size() == 1) {
      full.addAll(List.of(catalogs.currentNamespace()));
    }
    full.addAll(parts);
    return full;
  }

  /** A statement of ours, which the parser takes. */
  public LogicalPlan parsed(String statement) {
    try {
      return session.sessionState().sqlParser().parsePlan(statement);
    } catch (ParseException e) {
      throw new IllegalStateException(statement, e);
    }
  }

  /** An expression as SQL has it, in which no names are known yet. */
  public org.apache.spark.sql.catalyst.expressions.Expression expression(String text)
      throws ParseException {
    return session.sessionState().sqlParser().parseExpression(text);
  }

  /** A plan in which names are known, as far as they are of anything. */
  public LogicalPlan resolved(LogicalPlan plan) {
    return session.sessionState().analyzer().execute(plan);
  }

  /** A plan whose names are known, as it is carried out. */
  public LogicalPlan optimized(LogicalPlan plan) {
    return execution(frame(plan)).optimizedPlan();
  }

  public Dataset<Row> frame(LogicalPlan plan) {
    return org.apache.spark.sql.classic.Dataset.ofRows(session, plan);
  }

  /** The rows of a frame in Spark's own form. */
  public static RDD<InternalRow> rows(Dataset<Row> frame) {
    return execution(frame).toRdd();
  }

  /** The rows of a frame that came with their statement; null of another, whose rows tasks have. */
  public static @Nullable List<InternalRow> rowsAtHand(Dataset<Row> frame) {
    return execution(frame).optimizedPlan() instanceof LocalRelation local
        ? CollectionConverters.asJava(local.data())
        : null;
  }

  /**
   * The rows of a stream of Arrow, each valid until the next.
   *
   * @param task that reads them; what they take goes with its end
   */
  public static Iterator<InternalRow> rows(byte[] arrow, TaskContext task) {
    return CollectionConverters.asJava(
        ArrowConverters$.MODULE$.fromIPCStreamWithIterator(arrow, task)._1());
  }

  /** The bytes that the client of this session has sent under a hash. */
  public byte[] sent(String hash) {
    BlockManager blocks = SparkEnv.get().blockManager();
    CacheId id = new CacheId(session.sessionUUID(), hash);
    Option<BlockData> found = blocks.getLocalBytes(id);
    if (found.isEmpty()) {
      throw new KeylakeException(
          UNAVAILABLE,
          "the server has no rows any more that were sent under %s: it, or the session, has begun anew; send them again"
              .formatted(hash));
    }
    try (InputStream bytes = found.get().toInputStream()) {
      return bytes.readAllBytes();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    } finally {
      blocks.releaseLock(id, Option.empty());
    }
  }

  /** Removes what was sent under a hash; Spark keeps it as long as the session. */
  public void forgetSent(String hash) {
    SparkEnv.get().blockManager().removeBlock(new CacheId(session.sessionUUID(), hash), false);
  }

  /** The size of a frame as the optimizer guesses it; very much where it knows nothing. */
  public static long bytes(Dataset<Row> frame) {
    BigInt bytes = execution(frame).optimizedPlan().stats().sizeInBytes();
    return bytes.isValidLong() ? bytes.toLong() : Long.MAX_VALUE;
  }

  private static QueryExecution execution(Dataset<Row> frame) {
    return ((org.apache.spark.sql.classic.Dataset<Row>) frame).queryExecution();
  }

  /** Writes rows to a table that its catalog need not show yet. */
  public void append(Table table, Dataset<Row> rows, Map<String, String> options) {
    LogicalPlan query = execution(rows).analyzed();
    DataSourceV2Relation target =
        DataSourceV2Relation.create(table, Option.empty(), Option.empty());
    AppendData write = AppendData.byName(target, query, immutable(options));
    session.sessionState().executePlan(write, CommandExecutionMode.ALL()).assertCommandExecuted();
  }

  /** The session has cached something, of any table. */
  public boolean keepsTables() {
    return !session.sharedState().cacheManager().isEmpty();
  }

  /** The parts of a name in SQL; of one that cannot be parsed the name itself. */
  public List<String> nameParts(String name) {
    try {
      return CollectionConverters.asJava(
          session.sessionState().sqlParser().parseMultipartIdentifier(name));
    } catch (ParseException e) {
      return List.of(name);
    }
  }

  /** Lets what is cached of a table be read anew, as Spark does after a write by tasks. */
  public void hasChanged(DataSourceV2Relation table) {
    if (table.catalog().isEmpty() || table.identifier().isEmpty()) {
      session.sharedState().cacheManager().recacheByPlan(session, table);
      return;
    }
    Identifier identifier = table.identifier().get();
    List<String> name = new ArrayList<>();
    name.add(table.catalog().get().name());
    name.addAll(List.of(identifier.namespace()));
    name.add(identifier.name());
    hasChanged(name);
  }

  /**
   * The same of a table by its name.
   *
   * @param name its parts, the catalog first
   */
  public void hasChanged(List<String> name) {
    CacheManager cached = session.sharedState().cacheManager();
    cached.recacheTableOrView(session, CollectionConverters.asScala(name).toSeq(), false);
  }

  private static scala.collection.immutable.Map<String, String> immutable(
      Map<String, String> options) {
    return scala.collection.immutable.Map.from(CollectionConverters.asScala(options));
  }

  /** The physical plan of a statement that is not run yet. */
  public SparkPlan planned(LogicalPlan statement) {
    return session
        .sessionState()
        .executePlan(statement, CommandExecutionMode.SKIP())
        .executedPlan();
  }

  /** A physical plan of its own, ready to be run. */
  public SparkPlan prepared(LogicalPlan plan) {
    return QueryExecution.prepareExecutedPlan(session, plan);
  }

  /**
   * A condition in SQL, as Iceberg has it.
   *
   * @param table whose columns the condition names, quoted for SQL
   */
  public Expression condition(String table, String where) throws AnalysisException {
    return SparkExpressionConverter.convertToIcebergExpression(
        SparkExpressionConverter.collectResolvedSparkExpression(session, table, where));
  }
}
