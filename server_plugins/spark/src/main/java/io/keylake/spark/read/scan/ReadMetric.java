package io.keylake.spark.read.scan;

import org.apache.spark.sql.connector.metric.CustomMetric;
import org.apache.spark.sql.connector.metric.CustomSumMetric;

/** A number that Spark's UI shows at a scan. */
public final class ReadMetric extends CustomSumMetric {
  private final String name;
  private final String description;

  /** Spark makes one by its class alone, to add up what tasks have sent. */
  public ReadMetric() {
    this("", "");
  }

  ReadMetric(String name, String description) {
    this.name = name;
    this.description = description;
  }

  @Override
  public String name() {
    return name;
  }

  @Override
  public String description() {
    return description;
  }

  /** The metrics are the same whatever the scan. */
  @Override
  public boolean equals(Object other) {
    return other instanceof CustomMetric that && name.equals(that.name());
  }

  @Override
  public int hashCode() {
    return name.hashCode();
  }
}
