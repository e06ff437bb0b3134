package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.catalog.AroundProcedure;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.RowType;
import io.keylake.spark.metadata.LocalRows;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.NoAnswer;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.storage.Placement;
import java.util.Iterator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.jspecify.annotations.Nullable;

/**
 * A procedure of Iceberg that adds, rewrites or deletes files of a table, or reads its rows
 * unmerged. It works on plain tables. On a keyed table it is refused, and the procedure that serves
 * there is named; or the same is done by a commit of keylake, which carries on what those before it
 * say.
 *
 * <p>All others of Iceberg work on both: they move branches (rollback_to_snapshot,
 * rollback_to_timestamp, set_current_snapshot, fast_forward), change metadata only
 * (compute_table_stats, compute_partition_stats), read (ancestors_of, rewrite_table_path), or make
 * a table (migrate, snapshot).
 *
 * @param instead what serves on keyed tables; null for {@value #REWRITE_MANIFESTS} and {@value
 *     #REGISTER_TABLE}
 */
record IcebergProcedure(KeyedCatalog catalog, @Nullable String instead) {

  private static final String REWRITE_MANIFESTS = "rewrite_manifests";
  private static final String REGISTER_TABLE = "register_table";

  private static final RowType<RewrittenRow> REWRITTEN =
      RowType.notNull(RewrittenRow.class, "rewritten_manifests_count", "added_manifests_count");

  /** The result of Iceberg's procedure. */
  private record RewrittenRow(int rewrittenManifestsCount, int addedManifestsCount) {}

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
          "expire_snapshots",
          "clean(table => ..., policy => '{\"days\": 5}'), which keeps what consumers of the change feed have still to read",
          "create_changelog_view",
          "the table's change feed: SELECT * FROM the_table.changes");

  /** The same procedure, with what becomes of it on keyed tables where it would harm them. */
  static UnboundProcedure of(KeyedCatalog catalog, UnboundProcedure procedure, String name) {
    String word = name.toLowerCase(Locale.ROOT);
    String instead = INSTEAD.get(word);
    boolean isOther = !word.equals(REWRITE_MANIFESTS) && !word.equals(REGISTER_TABLE);
    return procedure == null || (instead == null && isOther)
        ? procedure
        : new AroundProcedure(procedure, new IcebergProcedure(catalog, instead)::call);
  }

  private Iterator<Scan> call(BoundProcedure bound, InternalRow input) {
    String name = bound.name();
    LocalProcedure.Arguments arguments =
        new LocalProcedure.Arguments(name, List.of(bound.parameters()), input);
    if (name.equals(REGISTER_TABLE)) {
      Iterator<Scan> done = bound.call(input);
      named(arguments).ifPresent(made -> checkRegistered(arguments, made));
      return done;
    }
    Optional<Table> keyed = named(arguments).filter(KeyedSchema::isKeyed);
    if (keyed.isEmpty()) {
      return bound.call(input);
    }
    if (instead != null) {
      throw new KeylakeException(
          UNSUPPORTED,
          "Iceberg's procedure %s knows nothing of keyed tables, and %s is one; use %s"
              .formatted(name, arguments.text("table"), instead));
    }
    InternalRow done = REWRITTEN.row(rewriteManifests(keyed.get()));
    return List.<Scan>of(new LocalRows(name, REWRITTEN.type(), () -> List.of(done))).iterator();
  }

  private void checkRegistered(LocalProcedure.Arguments arguments, Table made) {
    if (KeyedSchema.isKeyed(made)) {
      refuseSecond(arguments, made);
      return;
    }
    try {
      TableMetadata metadata = ((BaseTable) made).operations().current();
      new Placement(arguments.requiredText("table"), made.io(), null).checkNoState(metadata);
    } catch (KeylakeException e) {
      catalog.icebergCatalog().dropTable(new TableArgument(catalog).identifier(arguments), false);
      throw e;
    }
  }

  /** Two tables of one folder would delete each other's files: neither knows those of the other. */
  private void refuseSecond(LocalProcedure.Arguments arguments, Table made) {
    TableIdentifier own = new TableArgument(catalog).identifier(arguments);
    for (TableIdentifier each : catalog.tablesBelow()) {
      if (!each.equals(own) && isSame(each, made)) {
        catalog.icebergCatalog().dropTable(own, false);
        throw new KeylakeException(
            UNSUPPORTED,
            "%s is the metadata of table %s, and two tables of one folder would delete each other's files; drop that one first, or copy its rows (CREATE TABLE ... AS SELECT)"
                .formatted(arguments.text("metadata_file"), TableArgument.quoted(each)));
      }
    }
  }

  private boolean isSame(TableIdentifier ident, Table made) {
    try {
      return catalog.icebergCatalog().loadTable(ident).uuid().equals(made.uuid());
    } catch (NoSuchTableException e) {
      return false; // dropped meanwhile
    } catch (RuntimeException e) {
      if (NoAnswer.in(e).isPresent()) {
        throw e;
      }
      return false; // damaged: the metadata that was registered can be read
    }
  }

  private static RewrittenRow rewriteManifests(Table table) {
    Snapshot head = table.currentSnapshot();
    if (head == null || head.dataManifests(table.io()).size() < 2) {
      return new RewrittenRow(0, 0);
    }
    Commits.Result result = new Commits(table).make(new ManifestRewrite());
    if (!result.isCommitted()) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "rewriting the manifests of %s lost against other commits too often; nothing was changed; try again"
              .formatted(table.name()));
    }
    Map<String, String> summary = table.snapshot(result.lastSnapshotId()).summary();
    return new RewrittenRow(
        Integer.parseInt(summary.get(SnapshotSummary.REPLACED_MANIFESTS_COUNT)),
        Integer.parseInt(summary.get(SnapshotSummary.CREATED_MANIFESTS_COUNT)));
  }

  /** The table of a call, or the one whose branch, tag, snapshot or part is named. */
  private Optional<Table> named(LocalProcedure.Arguments arguments) {
    if (!arguments.has("table") || arguments.text("table") == null) {
      return Optional.empty();
    }
    try {
      TableIdentifier ident = new TableArgument(catalog).identifier(arguments);
      return found(ident).or(() -> found(above(ident)));
    } catch (KeylakeException e) {
      return Optional.empty(); // Iceberg says so itself
    }
  }

  private Optional<Table> found(@Nullable TableIdentifier ident) {
    try {
      return ident == null
          ? Optional.empty()
          : Optional.of(catalog.icebergCatalog().loadTable(ident));
    } catch (NoSuchTableException e) {
      return Optional.empty();
    }
  }

  /** The table {@code a.b} of {@code a.b.branch_main}. */
  private static @Nullable TableIdentifier above(TableIdentifier part) {
    return part.namespace().length() < 2 ? null : TableIdentifier.of(part.namespace().levels());
  }
}
