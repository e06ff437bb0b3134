package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.apache.spark.sql.types.StructType;

/**
 * A procedure of Iceberg that adds, rewrites or deletes files of a table, or reads its rows
 * unmerged. It works on plain tables; on a keyed table it is refused, and the procedure that serves
 * there is named.
 *
 * <p>All others of Iceberg work on both: they move branches (rollback_to_snapshot,
 * rollback_to_timestamp, set_current_snapshot, fast_forward), change metadata only
 * (rewrite_manifests, expire_snapshots, compute_table_stats, compute_partition_stats), read
 * (ancestors_of, rewrite_table_path), or make a table (migrate, snapshot, register_table).
 */
record IcebergProcedure(
    KeyedCatalog catalog, UnboundProcedure unbound, BoundProcedure bound, String instead)
    implements UnboundProcedure, BoundProcedure {

  private static final Map<String, String> INSTEAD =
      Map.of(
          "rewrite_data_files",
          "compact(table => ...), which merges rows by version",
          "rewrite_position_delete_files",
          "compact(table => ..., policy => 'settle')",
          "add_files",
          "INSERT INTO the table, or upsert() of the SDK, with the rows of the files",
          "cherrypick_snapshot",
          "cherry_pick(table => ..., source => ...)",
          "publish_changes",
          "publish(table => ..., branch => ...) with a branch of the table",
          "remove_orphan_files",
          "clean(table => ...)",
          "create_changelog_view",
          "the table's change feed: SELECT * FROM the_table.changes");

  /** The same procedure, refused on keyed tables where it would harm them. */
  static UnboundProcedure of(KeyedCatalog catalog, UnboundProcedure procedure, String name) {
    String instead = INSTEAD.get(name.toLowerCase(Locale.ROOT));
    return instead == null || procedure == null
        ? procedure
        : new IcebergProcedure(catalog, procedure, null, instead);
  }

  @Override
  public String name() {
    return unbound.name();
  }

  @Override
  public String description() {
    return unbound.description();
  }

  @Override
  public BoundProcedure bind(StructType inputType) {
    return new IcebergProcedure(catalog, unbound, unbound.bind(inputType), instead);
  }

  @Override
  public ProcedureParameter[] parameters() {
    return bound.parameters();
  }

  @Override
  public boolean isDeterministic() {
    return bound.isDeterministic();
  }

  @Override
  public Iterator<Scan> call(InternalRow input) {
    LocalProcedure.Arguments arguments =
        new LocalProcedure.Arguments(List.of(bound.parameters()), input);
    if (arguments.has("table") && arguments.text("table") != null && isKeyed(arguments)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "Iceberg's procedure %s knows no versions of rows, and table %s is keyed; use %s"
              .formatted(name(), arguments.text("table"), instead));
    }
    return bound.call(input);
  }

  private boolean isKeyed(LocalProcedure.Arguments arguments) {
    try {
      TableIdentifier ident = new TableArgument(catalog).identifier(arguments);
      return KeyedSchema.isKeyed(catalog.icebergCatalog().loadTable(ident));
    } catch (NoSuchTableException | KeylakeException e) {
      return false; // Iceberg says so itself
    }
  }
}
