package io.keylake.spark.extension;

import io.keylake.tables.GuestApi;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.spark.SparkContext;

/**
 * Work that the server's maintenance does for plain tables of Iceberg. A table asks for it by a
 * property, whose value is the policy. Maintenance looks at the table when the server first loads
 * it and from time to time, one table after the other.
 */
@GuestApi
public interface MaintenanceTask {

  /** The name of the property, which begins with {@code keylake.}. */
  String property();

  /** Refuses a value of the property, before a statement sets it. */
  void check(String value);

  /**
   * Does what the policy of a table wants now.
   *
   * @param name of the table with its catalog
   * @param table which has the property
   * @param atOnce how many tasks run side by side
   * @return what was committed; empty where nothing was due
   */
  Optional<Done> run(SparkContext spark, String name, Table table, int atOnce);

  /**
   * The result of a task.
   *
   * @param because the reason, as a person reads it in the log
   */
  record Done(
      int commits,
      long filesRemoved,
      long filesWritten,
      long bytesRemoved,
      long bytesWritten,
      String because) {}
}
