package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Need;
import io.keylake.spark.access.Right;
import io.keylake.spark.access.SeenNames;
import io.keylake.spark.access.SettingRights;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.ClassicSession;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.LocalTempView$;
import org.apache.spark.sql.catalyst.analysis.PersistedView$;
import org.apache.spark.sql.catalyst.analysis.ResolvedIdentifier;
import org.apache.spark.sql.catalyst.analysis.ResolvedNamespace;
import org.apache.spark.sql.catalyst.analysis.ResolvedProcedure;
import org.apache.spark.sql.catalyst.analysis.ResolvedTable;
import org.apache.spark.sql.catalyst.plans.logical.AlterTableCommand;
import org.apache.spark.sql.catalyst.plans.logical.Call;
import org.apache.spark.sql.catalyst.plans.logical.DeleteFromTable;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.RenameTable;
import org.apache.spark.sql.catalyst.plans.logical.TableSpec;
import org.apache.spark.sql.catalyst.plans.logical.V2CreateTablePlan;
import org.apache.spark.sql.connector.catalog.CatalogPlugin;
import org.apache.spark.sql.execution.command.CreateViewCommand;
import org.apache.spark.sql.execution.command.ResetCommand;
import org.apache.spark.sql.execution.command.SetCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/** The rights that statements take which are no reads and no writes of rows. */
final class StatementRights {
  /** Statements that change nothing beyond the session, or show what lists show. */
  private static final Set<String> FREE =
      Set.of(
          "SetCatalogAndNamespace",
          "SetCatalogCommand",
          "SetNamespaceCommand",
          "ShowCurrentNamespace",
          "ShowCurrentNamespaceCommand",
          "ShowNamespaces",
          "ShowNamespacesCommand",
          "ShowCatalogsCommand",
          "ShowTables",
          "ShowTablesCommand",
          "ShowViews",
          "ShowViewsCommand",
          "ShowIcebergViews",
          "ShowFunctions",
          "ShowFunctionsCommand",
          "ShowProceduresCommand",
          "ShowColumns",
          "ShowCreateTable",
          "ShowTableProperties",
          "ShowViewProperties",
          "ShowPartitions",
          "DescribeFunction",
          "DescribeFunctionCommand",
          "DescribeProcedure",
          "DescribeProcedureCommand",
          "DescribeNamespace",
          "DescribeQueryCommand",
          "DescribeRelation",
          "DescribeTablePartition",
          "ExplainCommand",
          "CreateVariable",
          "DropVariable",
          "SetVariable",
          "CacheTable",
          "CacheTableAsSelect",
          "UncacheTable",
          "RefreshTable",
          "DropTempViewCommand",
          "DropTempView",
          "NoopCommand");

  private static final Map<String, Right> OF_TABLE =
      Map.ofEntries(
          Map.entry("DescribeColumn", Right.READ),
          Map.entry("DeleteFromTable", Right.WRITE),
          Map.entry("UpdateTable", Right.WRITE),
          Map.entry("MergeIntoTable", Right.WRITE),
          Map.entry("TruncateTable", Right.WRITE),
          Map.entry("TruncatePartition", Right.WRITE),
          Map.entry("AnalyzeTable", Right.MAINTAIN),
          Map.entry("AnalyzeColumn", Right.MAINTAIN),
          Map.entry("AddPartitions", Right.ALTER),
          Map.entry("DropPartitions", Right.ALTER),
          Map.entry("RenamePartitions", Right.ALTER),
          Map.entry("CommentOnTable", Right.ALTER),
          Map.entry("CreateOrReplaceBranch", Right.ALTER),
          Map.entry("CreateOrReplaceTag", Right.ALTER),
          Map.entry("DropBranch", Right.ALTER),
          Map.entry("DropTag", Right.ALTER),
          Map.entry("AddPartitionField", Right.ALTER),
          Map.entry("DropPartitionField", Right.ALTER),
          Map.entry("ReplacePartitionField", Right.ALTER),
          Map.entry("SetIdentifierFields", Right.ALTER),
          Map.entry("DropIdentifierFields", Right.ALTER),
          Map.entry("SetWriteDistributionAndOrdering", Right.ALTER),
          Map.entry("SetViewProperties", Right.ALTER),
          Map.entry("UnsetViewProperties", Right.ALTER),
          Map.entry("DropTable", Right.DROP),
          Map.entry("DropView", Right.DROP),
          Map.entry("DropIcebergView", Right.DROP),
          Map.entry("CreateTable", Right.CREATE),
          Map.entry("CreateTableAsSelect", Right.CREATE),
          Map.entry("CreateView", Right.CREATE),
          Map.entry("CreateIcebergView", Right.CREATE),
          Map.entry("ReplaceTable", Right.DROP),
          Map.entry("ReplaceTableAsSelect", Right.DROP));

  private static final Map<String, Right> OF_NAMESPACE =
      Map.of(
          "CreateNamespace", Right.CREATE,
          "DropNamespace", Right.DROP,
          "SetNamespaceProperties", Right.ALTER,
          "UnsetNamespaceProperties", Right.ALTER,
          "SetNamespaceLocation", Right.ALTER,
          "SetNamespaceCollation", Right.ALTER,
          "CommentOnNamespace", Right.ALTER);

  private static final Set<String> OF_PLACES = Set.of("SetTableLocation", "SetNamespaceLocation");

  private static final Set<String> OF_BRANCH = Set.of("CreateOrReplaceBranch", "DropBranch");

  private static final Set<String> OF_CODE =
      Set.of(
          "AddJarsCommand",
          "AddFilesCommand",
          "AddArchivesCommand",
          "CreateFunction",
          "CreateFunctionCommand",
          "CreateUserDefinedFunction",
          "CreateUserDefinedFunctionCommand",
          "CreateSQLFunctionCommand",
          "DropFunction",
          "DropFunctionCommand",
          "RefreshFunction",
          "RefreshFunctionCommand");

  private final AccessControl control;
  private final SparkSession session;

  StatementRights(AccessControl control, SparkSession session) {
    this.control = control;
    this.session = session;
  }

  void check(LogicalPlan statement, String principal) {
    String name = statement.nodeName();
    String subject = words(name);
    checkPlaces(statement, subject, principal);
    if (statement instanceof SetCommand set) {
      checkSet(set, principal);
    } else if (statement instanceof ResetCommand reset) {
      SettingRights.check(
          control, principal, reset.config().isEmpty() ? null : reset.config().get());
    } else if (statement instanceof Call call) {
      checkCall(call, principal);
    } else if (statement instanceof RenameTable rename) {
      checkRename(rename, principal);
    } else if (statement instanceof CreateViewCommand view) {
      if (view.viewType() instanceof PersistedView$) {
        control.require(principal, Right.FILES, subject);
      } else if (!(view.viewType() instanceof LocalTempView$)) {
        control.require(principal, Right.FILES, "a view for all sessions");
      }
    } else if (name.startsWith("DropTempView") && isForAll(statement)) {
      control.require(principal, Right.FILES, "a view for all sessions");
    } else if (OF_CODE.contains(name)) {
      control.require(principal, Right.RUN_CODE, subject);
    } else if (OF_NAMESPACE.containsKey(name)) {
      checkTable(OF_NAMESPACE.get(name), statement, subject, principal);
    } else if (OF_TABLE.containsKey(name) || statement instanceof AlterTableCommand) {
      Right right = OF_TABLE.getOrDefault(name, Right.ALTER);
      checkTable(right, statement, subject, principal);
      if (name.startsWith("ReplaceTable")) {
        checkTable(Right.CREATE, statement, subject, principal);
      }
    } else if (!FREE.contains(name)) {
      control.require(principal, Right.FILES, subject);
      control.require(principal, Right.RUN_CODE, subject);
    }
  }

  /** A place that a statement names may be anybody's, and a class is run by all who write. */
  private void checkPlaces(LogicalPlan statement, String subject, String principal) {
    boolean isMoved = OF_PLACES.contains(statement.nodeName());
    List<String> properties = new ArrayList<>(MapMembers.names(statement));
    for (int i = 0; i < statement.productArity(); i++) {
      if (statement.productElement(i) instanceof TableSpec table) {
        isMoved |= table.location().isDefined();
        properties.addAll(MapMembers.names(table));
      }
    }
    for (String property : properties) {
      isMoved |= property.equals("location") || property.endsWith(".path");
      if (property.endsWith(".impl")) {
        control.require(principal, Right.RUN_CODE, "property " + property);
      }
    }
    if (isMoved) {
      control.require(principal, Right.FILES, "a place that %s names".formatted(subject));
    }
  }

  /** The statement sets a setting, or shows one or all of them. */
  private void checkSet(SetCommand set, String principal) {
    String name = set.kv().isEmpty() ? null : set.kv().get()._1();
    if (name == null || name.equals("-v")) {
      SettingRights.check(control, principal, null);
    } else if (set.kv().get()._2().isEmpty()) {
      SettingRights.checkShown(control, principal, name);
    } else {
      SettingRights.check(control, principal, name);
    }
  }

  private static boolean isForAll(LogicalPlan dropped) {
    return dropped.toString().toLowerCase(Locale.ROOT).contains("global_temp");
  }

  /** A procedure of ours checks its own call, when it knows the arguments. */
  private void checkCall(Call call, String principal) {
    if (!(call.procedure() instanceof ResolvedProcedure procedure
        && procedure.catalog() instanceof KeyedCatalog)) {
      control.require(principal, Right.FILES, "CALL of a catalog that is not of keylake");
    }
  }

  private void checkRename(RenameTable rename, String principal) {
    checkTable(Right.ALTER, rename, "RENAME", principal);
    checkTable(Right.DROP, rename, "RENAME", principal);
    if (rename.child() instanceof ResolvedTable table) {
      List<String> name = new ArrayList<>(CollectionConverters.asJava(rename.newName()));
      if (!name.get(0).equals(table.catalog().name())) {
        name.add(0, table.catalog().name());
      }
      control.require(
          principal, Need.of(Right.CREATE, String.join(".", name), "RENAME to that name"));
    }
  }

  private void checkTable(Right right, LogicalPlan statement, String subject, String principal) {
    String table = table(statement);
    if (table == null) {
      control.require(principal, Right.FILES, subject);
    } else {
      control.require(principal, Need.ofBranch(right, table, branch(statement), subject));
      if (statement.nodeName().equals("CreateOrReplaceBranch")) {
        control.require(principal, Need.of(Right.READ, table, subject + " of another's rows"));
      }
    }
  }

  /** The branch that a statement of Iceberg makes or drops; null for all other statements. */
  private static @Nullable String branch(LogicalPlan statement) {
    return OF_BRANCH.contains(statement.nodeName()) ? (String) statement.productElement(1) : null;
  }

  /** The table, the view or the namespace that a statement names; null of others' catalogs. */
  private @Nullable String table(LogicalPlan statement) {
    LogicalPlan named = statement.children().isEmpty() ? statement : statement.children().head();
    if (statement instanceof V2CreateTablePlan create) {
      named = create.name(); // no child once its query is analyzed
    }
    if (statement instanceof DeleteFromTable delete) {
      named = delete.table();
    }
    while (named.children().size() == 1) {
      named = named.children().head(); // aliases and filters over a table
    }
    if (named instanceof ResolvedTable table) {
      return ours(table.catalog(), TableName.full(table.catalog(), table.identifier()));
    }
    if (named instanceof ResolvedIdentifier identifier) {
      return ours(
          identifier.catalog(), TableName.full(identifier.catalog(), identifier.identifier()));
    }
    if (named instanceof ResolvedNamespace namespace) {
      String[] path = CollectionConverters.asJava(namespace.namespace()).toArray(String[]::new);
      return ours(namespace.catalog(), SeenNames.full(namespace.catalog().name(), path, "*"));
    }
    if (named instanceof DataSourceV2Relation relation) {
      TableName name = TableName.of(relation);
      return name == null ? null : name.full();
    }
    return ofIceberg(named);
  }

  /** The statements of Iceberg's parser have the parts of a name as their first member. */
  private @Nullable String ofIceberg(LogicalPlan statement) {
    if (statement.productArity() == 0 || !(statement.productElement(0) instanceof Seq<?> parts)) {
      return null;
    }
    ClassicSession classic = ClassicSession.of(session);
    List<String> name =
        classic.fullName(CollectionConverters.asJava(parts).stream().map(String::valueOf).toList());
    return ours(classic.catalogs().catalog(name.get(0)), String.join(".", name));
  }

  private static @Nullable String ours(CatalogPlugin catalog, String name) {
    return catalog instanceof KeyedCatalog ? name : null;
  }

  /** The class of a statement as a sentence calls it: {@code CreateTable} is CREATE TABLE. */
  static String words(String nodeName) {
    String name = nodeName.endsWith("Command") ? nodeName.replace("Command", "") : nodeName;
    return name.replaceAll("(?<=[a-z])(?=[A-Z])", " ").toUpperCase(Locale.ROOT);
  }
}
