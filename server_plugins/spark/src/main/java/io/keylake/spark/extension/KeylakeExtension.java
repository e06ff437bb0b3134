package io.keylake.spark.extension;

import io.keylake.tables.GuestApi;
import java.util.List;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;

/**
 * The parts that a guest adds to the server. {@code java.util.ServiceLoader} finds it when the
 * server starts: its jar lies beside that of the core, and has the same version.
 *
 * <ol>
 *   <li>A process makes one instance of each guest, with the constructor without parameters. The
 *       instance has no state: sessions and catalogs share it, and several threads call it.
 *   <li>The core comes first, then the guests in the order of their names: so are rules injected,
 *       tables shown and tasks run.
 *   <li>A guest adds to the core and replaces nothing of it: a procedure whose name the core or
 *       another guest has, and a task for the property of another, are refused.
 * </ol>
 */
@GuestApi
public interface KeylakeExtension {

  /** The name of the guest, which is that of its jar without the version. */
  String name();

  /**
   * Adds SQL functions, and rules of the analyzer, the optimizer and the planner, to a session that
   * begins. The rules of the core are there already, and run before those of the guest.
   */
  default void addTo(SparkSessionExtensions session) {}

  /**
   * The procedures of {@code CALL <catalog>.system}.
   *
   * @param tables of the catalog, which each catalog has its own of
   */
  default List<UnboundProcedure> procedures(CatalogTables tables) {
    return List.of();
  }

  /** The tasks for plain tables that the guest adds to the server's maintenance. */
  default List<MaintenanceTask> tasks() {
    return List.of();
  }

  /**
   * The form in which statements see a plain table of Iceberg.
   *
   * @param loaded as Iceberg, and the guests before this one, show it
   * @return the same where the guest has nothing to add to it
   */
  default SparkTable plain(SparkTable loaded) {
    return loaded;
  }
}
