package io.keylake.pipelines.kafka;

import io.keylake.spark.engine.RowType;
import io.keylake.spark.metadata.LocalRows;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Says how far the partitions of topics go: {@code kafka_offsets(settings => '{"bootstrap.servers":
 * "host:9092"}', topics => 'orders,clicks')}. {@code pattern} is a regular expression for names of
 * topics in their place; {@code at} a time in milliseconds, whose offsets are given, too.
 */
public final class KafkaOffsetsProcedure implements UnboundProcedure, BoundProcedure {
  private static final int PATTERN = 2;
  private static final int AT = 3;
  private static final RowType<Brokers.Offsets> OFFSETS =
      RowType.notNull(Brokers.Offsets.class, "topic", "partition", "earliest", "latest");

  @Override
  public String name() {
    return "kafka_offsets";
  }

  @Override
  public String description() {
    return "(settings STRING, topics STRING DEFAULT NULL, pattern STRING DEFAULT NULL, at BIGINT DEFAULT NULL) returns ("
        + OFFSETS.type().toDDL()
        + ")";
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return this;
  }

  @Override
  public ProcedureParameter[] parameters() {
    return new ProcedureParameter[] {
      ProcedureParameter.in("settings", DataTypes.StringType).build(),
      ProcedureParameter.in("topics", DataTypes.StringType).defaultValue("NULL").build(),
      ProcedureParameter.in("pattern", DataTypes.StringType).defaultValue("NULL").build(),
      ProcedureParameter.in("at", DataTypes.LongType).defaultValue("NULL").build()
    };
  }

  @Override
  public boolean isDeterministic() {
    return false;
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    List<InternalRow> rows =
        OFFSETS.rows(
            Brokers.offsets(
                input.getUTF8String(0).toString(),
                input.isNullAt(1) ? "" : input.getUTF8String(1).toString(),
                input.isNullAt(PATTERN) ? null : input.getUTF8String(PATTERN).toString(),
                input.isNullAt(AT) ? null : (Long) input.getLong(AT))
                .stream());
    return List.<Scan>of(new LocalRows(name(), OFFSETS.type(), () -> rows)).iterator();
  }
}
