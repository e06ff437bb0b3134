package io.keylake.spark.preparation;

import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.table.NodeRule;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.spec.KeyedSchema;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.AppendData;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.OverwriteByExpression;
import org.apache.spark.sql.catalyst.plans.logical.OverwritePartitionsDynamic;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.V2WriteCommand;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Map$;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Prepares the rows of every write to a keyed table, wherever it comes from: SQL, a DataFrame or
 * the SDK.
 *
 * <ol>
 *   <li>Columns are matched with the table's; those the frame lacks stay absent, so that an INSERT
 *       of some columns is a partial update.
 *   <li>Values are brought to the table's types, or refused where that would change them.
 *   <li>The bucket is computed and what options name travels along, for the writer.
 * </ol>
 */
public final class KeyedWriteRule extends NodeRule {

  @Override
  protected boolean concerns(LogicalPlan node) {
    return node instanceof V2WriteCommand;
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    return prepare((V2WriteCommand) node);
  }

  private static @Nullable KeyedTable keyedTable(Object plan) {
    return plan instanceof DataSourceV2Relation relation
            && relation.table() instanceof KeyedTable table
        ? table
        : null;
  }

  private static LogicalPlan prepare(V2WriteCommand write) {
    KeyedTable table = keyedTable(write.table());
    if (table == null || table.rows() != Rows.AS_GIVEN || !write.query().resolved()) {
      return (LogicalPlan) write;
    }
    DataSourceV2Relation relation = (DataSourceV2Relation) write.table();
    WriteOptions said = said(write, relation);
    KeyedSchema schema = table.writtenBy(said.verb());
    WriteOptions options = said.versionedBy(schema.spec().ordering());
    PreparedRows rows = new PreparedRows(schema, options);
    Project prepared =
        write.isByName() ? rows.byName(write.query()) : rows.byPosition(write.query());
    DataSourceV2Relation target = table.taking(Rows.PREPARED).inPlaceOf(relation);
    return (LogicalPlan) write.withNewTable(target).withNewQuery(prepared);
  }

  /** The options of a write and of the relation that it goes to. */
  static WriteOptions said(V2WriteCommand write, DataSourceV2Relation relation) {
    Map<String, String> given = new HashMap<>(relation.options().asCaseSensitiveMap());
    given.putAll(CollectionConverters.asJava(writeOptions(write)));
    return WriteOptions.of(given, unlessSaid(write));
  }

  private static scala.collection.immutable.Map<String, String> writeOptions(V2WriteCommand write) {
    if (write instanceof AppendData append) {
      return append.writeOptions();
    }
    if (write instanceof OverwriteByExpression overwrite) {
      return overwrite.writeOptions();
    }
    return write instanceof OverwritePartitionsDynamic overwrite
        ? overwrite.writeOptions()
        : Map$.MODULE$.empty();
  }

  static WriteOptions.Verb unlessSaid(V2WriteCommand write) {
    return write instanceof OverwriteByExpression || write instanceof OverwritePartitionsDynamic
        ? WriteOptions.Verb.OVERWRITE
        : WriteOptions.Verb.UPDATE;
  }
}
