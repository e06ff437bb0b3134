package io.keylake.spark.table;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.ClassicSession;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.TreeMap;
import java.util.UUID;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.AliasIdentifier;
import org.apache.spark.sql.catalyst.analysis.UnresolvedRelation;
import org.apache.spark.sql.catalyst.plans.logical.CTERelationRef;
import org.apache.spark.sql.catalyst.plans.logical.InsertIntoStatement;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.SubqueryAlias;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.connector.catalog.CatalogManager;
import org.apache.spark.sql.connector.catalog.Identifier;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Keeps apart the mentions of one table that have different options. Within a query, Spark resolves
 * a table once by its name and takes that for every later mention, options and all: of two ranges
 * of commits it would read the first one twice. So a mention with options gets a name of its own,
 * which the catalog knows to stand for the table, and an alias by which its columns can be named as
 * before. A table of others has its own name again as soon as it is known, and so has a table that
 * is written.
 */
public final class ReadOptionsRule extends NodeRule {
  /** No table has such a name: a slash cannot be part of it. */
  private static final String PREFIX = "with options/";

  private final SparkSession session;

  public ReadOptionsRule(SparkSession session) {
    this.session = session;
  }

  /**
   * Gives the tables of others their names back: Spark keeps and forgets rows of tables by name.
   * What is no table has its name again, too: it may be a view, and otherwise is told by it.
   */
  public static Rule<LogicalPlan> ofOthers() {
    return new NodeRule() {
      @Override
      protected boolean concerns(LogicalPlan node) {
        return other(node) != null || written(node) != null || isNoTable(node);
      }

      @Override
      protected LogicalPlan changed(LogicalPlan node) {
        if (isNoTable(node)) {
          UnresolvedRelation relation = (UnresolvedRelation) node;
          List<String> named = CollectionConverters.asJava(relation.multipartIdentifier());
          Seq<String> own = sequence(named.subList(0, named.size() - 1));
          return relation.copy(own, relation.options(), false);
        }
        DataSourceV2Relation written = written(node);
        if (written != null) {
          return (LogicalPlan) ((V2WriteCommand) node).withNewTable(byOwnName(written));
        }
        DataSourceV2Relation mention = Objects.requireNonNull(other(node), "a table of others");
        return node.withNewChildren(sequence(List.<LogicalPlan>of(byOwnName(mention))));
      }
    };
  }

  /** Spark has looked for a table by this time. */
  private static boolean isNoTable(LogicalPlan node) {
    return node instanceof UnresolvedRelation relation
        && isMention(relation.multipartIdentifier().last());
  }

  private static DataSourceV2Relation byOwnName(DataSourceV2Relation mention) {
    return mention.copy(
        mention.table(),
        mention.output(),
        mention.catalog(),
        Option.apply(withoutMention(mention.identifier().get())),
        mention.options(),
        mention.timeTravelSpec());
  }

  /** The table that a statement with options writes to; null for other plans. */
  private static @Nullable DataSourceV2Relation written(LogicalPlan node) {
    return node instanceof V2WriteCommand write
            && write.table() instanceof DataSourceV2Relation relation
            && relation.identifier().isDefined()
            && isMention(relation.identifier().get().name())
        ? relation
        : null;
  }

  /** The table below the two aliases of a mention, if it is no keyed one; null for other plans. */
  private static @Nullable DataSourceV2Relation other(LogicalPlan node) {
    return node instanceof SubqueryAlias
            && node.children().head() instanceof SubqueryAlias mention
            && isMention(mention.identifier().name())
            && mention.child() instanceof DataSourceV2Relation relation
            && relation.table() instanceof SparkTable
            && !(relation.table() instanceof KeyedTable)
        ? relation
        : null;
  }

  /** A name is that of a mention with options; its namespace then names the table. */
  public static boolean isMention(String name) {
    return name.startsWith(PREFIX);
  }

  /**
   * The table, or its branch or part, that an identifier names, with a mention in it or without.
   */
  public static Identifier withoutMention(Identifier named) {
    List<String> path = new ArrayList<>(Arrays.asList(named.namespace()));
    path.add(named.name());
    if (!path.removeIf(ReadOptionsRule::isMention)) {
      return named;
    }
    int last = path.size() - 1;
    return Identifier.of(path.subList(0, last).toArray(String[]::new), path.get(last));
  }

  @Override
  protected boolean concerns(LogicalPlan node) {
    return node instanceof InsertIntoStatement insert
        ? hasOptions(insert.table()) && reads(insert.query(), (UnresolvedRelation) insert.table())
        : hasOptions(node);
  }

  /** A query has, or may have, the table of a relation, so that Spark takes one for the other. */
  private boolean reads(LogicalPlan query, UnresolvedRelation relation) {
    List<String> name = fullName(relation);
    return isIn(query, name) || query.subqueriesAll().exists(inner -> isIn(inner, name));
  }

  private boolean isIn(LogicalPlan query, List<String> name) {
    return query.exists(
        node ->
            node instanceof CTERelationRef
                || (node instanceof UnresolvedRelation read && isSame(fullName(read), name)));
  }

  private List<String> fullName(UnresolvedRelation relation) {
    return ClassicSession.of(session)
        .fullName(CollectionConverters.asJava(relation.multipartIdentifier()));
  }

  /** A mention with options of the query has a name of its own already. */
  private static boolean isSame(List<String> one, List<String> other) {
    return String.join(".", one).equalsIgnoreCase(String.join(".", other));
  }

  private static boolean hasOptions(LogicalPlan node) {
    return node instanceof UnresolvedRelation relation
        && !relation.isStreaming()
        && !relation.clearWritePrivileges().options().isEmpty();
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    if (node instanceof InsertIntoStatement insert) {
      LogicalPlan named = named((UnresolvedRelation) insert.table());
      return insert.copy(
          named instanceof SubqueryAlias alias ? alias.child() : named,
          insert.partitionSpec(),
          insert.userSpecifiedCols(),
          insert.query(),
          insert.overwrite(),
          insert.ifPartitionNotExists(),
          insert.byName());
    }
    return named((UnresolvedRelation) node);
  }

  private LogicalPlan named(UnresolvedRelation relation) {
    if (catalogs().v1SessionCatalog().isTempView(relation.multipartIdentifier())) {
      return relation;
    }
    List<String> name = fullName(relation);
    String last = name.get(name.size() - 1);
    if (isMention(last) || !isOurs(name.get(0))) {
      return relation;
    }
    List<String> own = new ArrayList<>(name);
    own.add(PREFIX + digest(relation));
    return new SubqueryAlias(
        new AliasIdentifier(last, sequence(name.subList(0, name.size() - 1))),
        relation.copy(sequence(own), relation.options(), false));
  }

  private static String digest(UnresolvedRelation relation) {
    String options = new TreeMap<>(relation.options().asCaseSensitiveMap()).toString();
    return UUID.nameUUIDFromBytes(options.getBytes(StandardCharsets.UTF_8)).toString();
  }

  private boolean isOurs(String catalog) {
    return catalogs().isCatalogRegistered(catalog)
        && catalogs().catalog(catalog) instanceof KeyedCatalog;
  }

  private CatalogManager catalogs() {
    return ClassicSession.of(session).catalogs();
  }

  private static <T> Seq<T> sequence(List<T> parts) {
    return CollectionConverters.asScala(parts).toSeq();
  }
}
