package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Need;
import io.keylake.spark.access.Right;
import io.keylake.spark.access.ServerWork;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.sent.SentRows;
import java.util.Arrays;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.CallMethodViaReflection;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.PlanExpression;
import org.apache.spark.sql.catalyst.expressions.TryReflect;
import org.apache.spark.sql.catalyst.expressions.UserDefinedExpression;
import org.apache.spark.sql.catalyst.plans.QueryPlan;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.Command;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.ScriptTransformation;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.catalyst.streaming.StreamingRelationV2;
import org.apache.spark.sql.catalyst.streaming.WriteToStream;
import org.apache.spark.sql.catalyst.trees.TreeNodeTag;
import org.apache.spark.sql.connector.catalog.Column;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractFunction1;
import scala.runtime.BoxedUnit;

/**
 * The check of an analyzed plan against the access policy. It knows what it lets through: a leaf or
 * a statement that it does not know takes rights that nobody has by chance.
 */
final class AccessCheck extends AbstractFunction1<LogicalPlan, BoxedUnit> {
  /** Leaves without rows, or with rows that the client has sent or has seen. */
  private static final Set<String> FREE_LEAVES =
      Set.of(
          "LocalRelation",
          "CachedLocalRelation",
          "OneRowRelation",
          "Range",
          "CommandResult",
          "CTERelationRef",
          "UnionLoopRef",
          "LogicalRDD",
          "ResolvedTable",
          "ResolvedIdentifier",
          "ResolvedNamespace",
          "ResolvedPersistentView",
          "ResolvedTempView",
          "ResolvedV2View",
          "ResolvedProcedure",
          "ResolvedInlineTable",
          "ResolvedNonPersistentFunc",
          "ResolvedPersistentFunc");

  private static final Set<String> OPTIONS_OF_FILES =
      Set.of("rowvalidationxsdpath", "avroschemaurl");

  private static final List<String> OF_CATALOGS =
      List.of("io.keylake.", "org.apache.iceberg.spark.functions.");

  /** The policy by which a plan was checked. */
  private static final TreeNodeTag<Object> CHECKED = new TreeNodeTag<>("policy of the check");

  private final AccessControl control;
  private final SparkSession session;
  private final StatementRights statements;

  AccessCheck(AccessControl control, SparkSession session) {
    this.control = control;
    this.session = session;
    this.statements = new StatementRights(control, session);
  }

  @Override
  public BoxedUnit apply(LogicalPlan plan) {
    if (!ServerWork.isRunning()) {
      Object policy = control.state();
      check(plan, control.principalOf(session));
      plan.setTagValue(CHECKED, policy);
    }
    return BoxedUnit.UNIT;
  }

  /** Checks a plan once more that was checked by another policy than the one in force. */
  void again(LogicalPlan plan) {
    if (!plan.getTagValue(CHECKED).contains(control.state())) {
      apply(plan);
    }
  }

  private void check(LogicalPlan node, String principal) {
    if (node instanceof SecuredRows secured) {
      checkSecured(secured, principal);
      return;
    }
    if (node instanceof V2WriteCommand write) {
      checkWrite(write, principal);
    } else if (node instanceof WriteToStream stream) {
      control.require(principal, Right.FILES, "the checkpoint of a stream");
      checkStream(stream, principal);
    } else if (node.nodeName().startsWith("WriteToMicroBatch")
        || node.nodeName().startsWith("WriteToContinuous")) {
      control.require(principal, Right.FILES, "the checkpoint of a stream");
    } else if (node instanceof Command) {
      statements.check(node, principal);
    } else if (node instanceof ScriptTransformation) {
      control.require(principal, Right.RUN_CODE, "TRANSFORM");
    } else if (node.children().isEmpty()) {
      checkLeaf(node, principal);
    }
    CollectionConverters.asJava(node.expressions())
        .forEach(expression -> checkExpression(expression, principal));
    inner(node).forEach(child -> check(child, principal));
  }

  /** The children, and the queries that a statement has beside them. */
  private static Set<LogicalPlan> inner(LogicalPlan node) {
    Set<LogicalPlan> inner = new LinkedHashSet<>(CollectionConverters.asJava(node.children()));
    if (node instanceof Command) {
      for (QueryPlan<?> each : CollectionConverters.asJava(node.innerChildren())) {
        if (each instanceof LogicalPlan plan && plan.resolved()) {
          inner.add(plan);
        }
      }
    }
    return inner;
  }

  /** Rows that were narrowed for somebody else, or by other rules, say nothing of this one. */
  private void checkSecured(SecuredRows secured, String principal) {
    boolean isOwn = secured.principal().equals(principal);
    boolean isNow =
        control
            .narrowing(principal, secured.table(), secured.branch())
            .equals(Optional.of(secured.narrowing()));
    String subject =
        isOwn
            ? isNow ? "SELECT" : "SELECT from a view of before the policy was changed"
            : "SELECT from a view that " + secured.principal() + " has made";
    Need need = Need.ofBranch(Right.READ, secured.table(), secured.branch(), subject);
    control.require(principal, isOwn && isNow ? need.narrowable() : need);
  }

  private void checkLeaf(LogicalPlan leaf, String principal) {
    if (leaf instanceof DataSourceV2Relation sent && SentRows.are(sent.table())) {
      return; // by this session
    }
    if (leaf instanceof DataSourceV2Relation relation) {
      checkRead(TableName.of(relation), relation.name(), principal);
    } else if (leaf instanceof StreamingRelationV2 stream) {
      checkRead(
          TableName.of(
              stream.table(), stream.catalog(), stream.identifier(), stream.extraOptions()),
          stream.sourceName(),
          principal);
    } else if (leaf.nodeName().startsWith("Streaming")) {
      control.require(principal, Right.FILES, "a batch of a stream");
    } else if (!FREE_LEAVES.contains(leaf.nodeName())) {
      control.require(principal, Right.FILES, leaf.nodeName());
    }
  }

  private void checkRead(@Nullable TableName table, String name, String principal) {
    if (table == null) {
      control.require(principal, Right.FILES, name);
    } else if (table.isWithoutValues()) {
      control.requireSeen(principal, table.full(), "SELECT");
    } else {
      control.require(principal, table.read("SELECT"));
    }
  }

  private void checkWrite(V2WriteCommand write, String principal) {
    CaseInsensitiveStringMap options = options(write);
    TableName table =
        write.table() instanceof DataSourceV2Relation target
            ? TableName.written(target, options)
            : null;
    String subject =
        write instanceof AppendData
            ? "a write of rows"
            : StatementRights.words(((LogicalPlan) write).nodeName());
    if (table == null) {
      control.require(principal, Right.FILES, subject);
      return;
    }
    Need need = Need.ofBranch(Right.WRITE, table.full(), table.branch(), subject);
    control.require(principal, isOfSomeColumns(options) ? need.ofColumns(columns(write)) : need);
  }

  private void checkStream(WriteToStream stream, String principal) {
    if (stream.catalogAndIdent().isEmpty()) {
      return; // a sink of files
    }
    String table =
        TableName.full(stream.catalogAndIdent().get()._1(), stream.catalogAndIdent().get()._2());
    control.require(principal, Need.of(Right.WRITE, table, "a stream into the table"));
  }

  /** The write is an update of columns; all others change whole rows. */
  private static boolean isOfSomeColumns(CaseInsensitiveStringMap options) {
    return WriteOptions.Verb.UPDATE.word().equalsIgnoreCase(options.get("verb"))
        && !options.containsKey("op"); // by which rows say that they delete
  }

  private static CaseInsensitiveStringMap options(V2WriteCommand write) {
    if (write instanceof AppendData append) {
      return options(append.writeOptions());
    }
    if (write instanceof OverwriteByExpression overwrite) {
      return options(overwrite.writeOptions());
    }
    return write instanceof OverwritePartitionsDynamic dynamic
        ? options(dynamic.writeOptions())
        : CaseInsensitiveStringMap.empty();
  }

  private static CaseInsensitiveStringMap options(
      scala.collection.immutable.Map<String, String> given) {
    return new CaseInsensitiveStringMap(CollectionConverters.asJava(given));
  }

  private static Set<String> columns(V2WriteCommand write) {
    Set<String> known =
        Arrays.stream(((DataSourceV2Relation) write.table()).table().columns())
            .map(Column::name)
            .collect(Collectors.toSet());
    return CollectionConverters.asJava(write.query().output()).stream()
        .map(Attribute::name)
        .filter(known::contains)
        .collect(Collectors.toSet());
  }

  /** The function is one that Iceberg or keylake has in a catalog. */
  private static boolean isOfCatalog(Expression expression) {
    return expression instanceof ApplyFunctionExpression call
        && OF_CATALOGS.stream().anyMatch(call.function().getClass().getName()::startsWith);
  }

  private void checkExpression(Expression expression, String principal) {
    if (expression instanceof UserDefinedExpression function && !isOfCatalog(expression)) {
      control.require(principal, Right.RUN_CODE, "function " + function.name());
    } else if (expression instanceof CallMethodViaReflection || expression instanceof TryReflect) {
      control.require(principal, Right.RUN_CODE, "function " + expression.prettyName());
    } else if (expression instanceof PlanExpression<?> subquery
        && subquery.plan() instanceof LogicalPlan plan) {
      check(plan, principal);
    }
    checkOptions(expression, principal);
    CollectionConverters.asJava(expression.children())
        .forEach(child -> checkExpression(child, principal));
  }

  /** Functions over XML and Avro have options that name files. */
  private void checkOptions(Expression expression, String principal) {
    for (String option : MapMembers.names(expression)) {
      if (OPTIONS_OF_FILES.contains(option)) {
        control.require(
            principal, Right.FILES, "option " + option + " of " + expression.prettyName());
      }
    }
  }
}
