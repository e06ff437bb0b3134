package io.keylake.spark.preparation;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.table.KeyedTable;
import io.keylake.spark.table.NodeRule;
import io.keylake.spark.write.KeyedWriteBuilder.Rows;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.HashMap;
import java.util.Map;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.execution.streaming.sources.WriteToMicroBatchDataSource;
import org.apache.spark.sql.streaming.OutputMode;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Prepares the rows of each batch of a streaming query, as {@link KeyedWriteRule} does for other
 * writes. In complete mode a batch replaces the table; in append and update mode it is an update.
 */
public final class StreamWriteRule extends NodeRule {

  @Override
  protected boolean concerns(LogicalPlan node) {
    return node instanceof WriteToMicroBatchDataSource write
        && write.table() instanceof KeyedTable table
        && table.rows() == Rows.AS_GIVEN
        && write.query().resolved();
  }

  @Override
  protected LogicalPlan changed(LogicalPlan node) {
    return prepared((WriteToMicroBatchDataSource) node);
  }

  private static LogicalPlan prepared(WriteToMicroBatchDataSource write) {
    KeyedTable table = (KeyedTable) write.table();
    WriteOptions said = said(write);
    KeyedSchema schema = table.writtenBy(said.verb());
    WriteOptions options = said.versionedBy(schema.spec().ordering());
    boolean hasKey = options.labels().idempotencyKey() != null;
    if (hasKey || !options.labels().offsets().isNone()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "%s with one write, and a stream writes many; leave it out: the batches of a query are each written once"
              .formatted(hasKey ? "idempotency_key goes" : "the option offsets goes"));
    }
    return write.copy(
        write.relation(),
        table.taking(Rows.PREPARED),
        new PreparedRows(schema, options).byName(write.query()),
        write.queryId(),
        write.writeOptions(),
        write.outputMode(),
        write.batchId());
  }

  /** The options of a streaming query. */
  static WriteOptions said(WriteToMicroBatchDataSource write) {
    Map<String, String> given = new HashMap<>(CollectionConverters.asJava(write.writeOptions()));
    WriteOptions.Verb unlessSaid =
        write.outputMode().equals(OutputMode.Complete())
            ? WriteOptions.Verb.OVERWRITE
            : WriteOptions.Verb.UPDATE;
    return WriteOptions.of(given, unlessSaid);
  }
}
