package io.keylake.spark.pipelines;

import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.extension.KeylakeExtension;
import io.keylake.spark.kafka.KafkaFunctions;
import io.keylake.spark.kafka.KafkaOffsetsProcedure;
import io.keylake.spark.many.WriteTablesProcedure;
import java.util.List;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/** Adds what pipelines need on the server: topics, their messages, and writes to many tables. */
public final class PipelinesExtension implements KeylakeExtension {
  @Override
  public String name() {
    return "keylake-pipelines";
  }

  @Override
  public void addTo(SparkSessionExtensions session) {
    KafkaFunctions.register(session);
  }

  @Override
  public List<UnboundProcedure> procedures(CatalogTables tables) {
    return List.of(new KafkaOffsetsProcedure(), WriteTablesProcedure.of(tables));
  }
}
