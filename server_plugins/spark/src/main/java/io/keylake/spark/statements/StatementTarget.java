package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.read.scan.StatementRead;
import io.keylake.spark.read.scan.StatementRead.Original;
import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.isolation.Isolation;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.analysis.AsOfVersion;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Filter;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.NullType;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * The table that a statement changes. All mentions of it in the statement are read at one snapshot,
 * whatever is committed until they are, and the commit of the statement knows that snapshot.
 *
 * @param rows the table as the statement reads it, under its alias, with metadata columns
 * @param read the same without its alias
 * @param relation the mention of the table in the statement
 * @param table as it is read and written
 */
public record StatementTarget(
    LogicalPlan rows, DataSourceV2Relation read, DataSourceV2Relation relation, KeyedTable table) {

  public static boolean isKeyed(LogicalPlan said) {
    return relationOf(said) != null || TargetView.tableBelow(said) != null;
  }

  /**
   * @param named a keyed table as a statement names it
   * @param isolation the property that states how the statement is isolated
   * @param statement that names it
   */
  public static StatementTarget of(LogicalPlan named, String isolation, Original statement) {
    DataSourceV2Relation relation = Objects.requireNonNull(relationOf(named), "a keyed table");
    KeyedTable loaded = (KeyedTable) relation.table();
    loaded.checkIsChangeable();
    StatementRead read =
        new StatementRead(
            isolation,
            Isolation.level(loaded.table().properties(), isolation),
            loaded.snapshotId(),
            loaded.readOfMain(),
            statement);
    KeyedTable table = loaded.readBy(read);
    DataSourceV2Relation pinned = pinned(relation.withMetadataColumns(), table);
    LogicalPlan rows = replaced(named, leaf -> leaf == relation ? pinned : leaf);
    return new StatementTarget(rows, pinned, relation, table);
  }

  static @Nullable DataSourceV2Relation relationOf(LogicalPlan said) {
    if (said instanceof SubqueryAlias alias) {
      return relationOf(alias.child());
    }
    return said instanceof DataSourceV2Relation relation && relation.table() instanceof KeyedTable
        ? relation
        : null;
  }

  /** Spark loads tables again before it reads them, but for those of a stated version. */
  private static DataSourceV2Relation pinned(DataSourceV2Relation relation, KeyedTable table) {
    return relation.copy(
        table,
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        relation.options(),
        Option.apply(new AsOfVersion(String.valueOf(table.snapshotId()))));
  }

  interface Replacing {
    LogicalPlan of(DataSourceV2Relation relation);
  }

  static LogicalPlan replaced(LogicalPlan plan, Replacing replacing) {
    return plan.transformUpWithSubqueries(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof DataSourceV2Relation;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return replacing.of((DataSourceV2Relation) node);
          }
        });
  }

  /** A column of the table, or a metadata column. */
  public AttributeReference column(String name) {
    return CollectionConverters.asJava(read.output()).stream()
        .filter(column -> column.name().equals(name))
        .findFirst()
        .orElseThrow();
  }

  /** The name of a column in the table, which a statement may write in other letters. */
  String nameOf(Attribute column) {
    return CollectionConverters.asJava(read.output()).stream()
        .filter(own -> own.exprId().equals(column.exprId()))
        .findFirst()
        .orElseThrow()
        .name();
  }

  /** The rows for which a condition is true. */
  public LogicalPlan rowsWhere(Expression condition) {
    return new Filter(
        condition.dataType() instanceof NullType
            ? Literal.create(null, DataTypes.BooleanType)
            : condition,
        rows);
  }

  /** The key of the rows. */
  public List<AttributeReference> key() {
    return table.keyed().key().stream().map(field -> column(field.name())).toList();
  }

  /** Writes rows that were made of the table's own. */
  public LogicalPlan write(LogicalPlan query, WriteOptions.Verb verb, @Nullable String version) {
    return write(query, verb, version, Map.of());
  }

  /**
   * The same with further options of the write.
   *
   * @param further columns of the query that say what a row does, and to which columns
   */
  LogicalPlan write(
      LogicalPlan query,
      WriteOptions.Verb verb,
      @Nullable String version,
      Map<String, String> further) {
    Map<String, String> options = new TreeMap<>(further);
    options.put("verb", verb.word());
    if (version != null) {
      options.put("version", version);
    }
    return AppendData.byName(
        table.inPlaceOf(relation),
        replaced(query, this::atOneSnapshot),
        Map$.MODULE$.from(CollectionConverters.asScala(options)));
  }

  /** The table may stand in subqueries, too. */
  private LogicalPlan atOneSnapshot(DataSourceV2Relation other) {
    boolean isTarget =
        other.table() instanceof KeyedTable
            && other.timeTravelSpec().isEmpty()
            && other.catalog().equals(relation.catalog())
            && other.identifier().equals(relation.identifier());
    return isTarget ? pinned(other, table) : other;
  }

  /** The refusal of something that a statement says of a column. */
  static KeylakeException refused(String sentence, Object... parts) {
    return new KeylakeException(UNSUPPORTED, sentence.formatted(parts));
  }
}
