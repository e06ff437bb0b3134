package io.keylake.pipelines;

import io.keylake.pipelines.kafka.KafkaFunctions;
import io.keylake.pipelines.kafka.KafkaOffsetsProcedure;
import io.keylake.pipelines.multitable.WriteTablesProcedure;
import io.keylake.spark.extension.CatalogTables;
import io.keylake.spark.extension.KeylakeExtension;
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
