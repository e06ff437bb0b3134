package io.keylake.spark.rest;

import io.keylake.spark.rest.KeyedTables.UnseenRows;
import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.Backoff;
import io.keylake.tables.catalogs.PointerCatalog;
import io.keylake.tables.outcomes.MultiTableCommit;
import io.keylake.tables.outcomes.TableChange;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.MetadataUpdate.AddSnapshot;
import org.apache.iceberg.MetadataUpdate.UpgradeFormatVersion;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.UpdateRequirement;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.rest.requests.CommitTransactionRequestParser;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.jspecify.annotations.Nullable;

/**
 * Commits to several tables, which readers see as a whole or not at all:
 *
 * <ol>
 *   <li>A transaction whose snapshots are all there was made before, and is not made again.
 *   <li>Requirements on all tables are checked before anything is written.
 *   <li>Rows for keyed tables, of clients that do not merge, are written where nobody sees them.
 *   <li>The catalog gives all tables their new metadata in one step. Where another commit came
 *       first, all of it is tried again upon what is there then.
 * </ol>
 *
 * @param keyed takes rows of clients that do not merge
 */
record TransactionCalls(KeyedTables keyed) {
  private static final int MOST_ATTEMPTS = 10;

  Answer commit(Call call) {
    List<UpdateTableRequest> requests =
        Messages.parsed(call.request().body(), CommitTransactionRequestParser::fromJson)
            .tableChanges();
    PointerCatalog catalog = call.pointerCatalog();
    Map<UpdateTableRequest, Table> ofRows = new LinkedHashMap<>();
    Set<TableIdentifier> names = new HashSet<>();
    for (UpdateTableRequest each : requests) {
      if (!names.add(each.identifier())) {
        throw RequestRefused.bad(
            "the transaction changes table %s twice; put all of its changes into one"
                .formatted(each.identifier()));
      }
      KeyedGuard.checkCommit(call, each.identifier(), each);
      Optional<Table> keyedTable = KeyedGuard.keyed(call, each.identifier());
      if (keyedTable.isPresent() && call.asOf() != null) {
        throw TableCalls.readOnly("an archived state", each.identifier());
      }
      keyedTable.ifPresent(table -> ofRows.put(each, table));
      if (catalog.metadataLocation(each.identifier()).isEmpty()) {
        KeyedGuard.ref(call, each.identifier())
            .ifPresent(
                ref -> {
                  throw TableCalls.readOnly("a branch or tag", ref.table());
                });
      }
    }
    List<UpdateTableRequest> plain =
        requests.stream().filter(each -> !ofRows.containsKey(each)).toList();
    for (int attempt = 1; !isMade(catalog, plain); attempt++) {
      plain.forEach(each -> change(catalog, each, null));
      Map<UpdateTableRequest, UnseenRows> rows = written(call, ofRows);
      try {
        make(catalog, requests, ofRows, rows);
        break;
      } catch (CommitFailedException e) {
        rows.values().forEach(UnseenRows::discard);
        if (attempt == MOST_ATTEMPTS || !Backoff.pause(attempt)) {
          throw e;
        }
      }
    }
    ofRows.values().forEach(table -> keyed.outdate(table.uuid()));
    return Answer.nothing();
  }

  private Map<UpdateTableRequest, UnseenRows> written(
      Call call, Map<UpdateTableRequest, Table> tables) {
    Map<UpdateTableRequest, UnseenRows> rows = new HashMap<>();
    try {
      tables.forEach(
          (request, table) ->
              keyed
                  .write(call.catalog(), request.identifier(), table, request)
                  .ifPresent(written -> rows.put(request, written)));
    } catch (RuntimeException e) {
      rows.values().forEach(UnseenRows::discard);
      throw e;
    }
    return rows;
  }

  private static void make(
      PointerCatalog catalog,
      List<UpdateTableRequest> requests,
      Map<UpdateTableRequest, Table> ofRows,
      Map<UpdateTableRequest, UnseenRows> rows) {
    List<TableChange> changes = new ArrayList<>();
    for (UpdateTableRequest each : requests) {
      UnseenRows written = rows.get(each);
      if (written != null || !ofRows.containsKey(each)) { // else its rows were committed before
        changes.add(change(catalog, each, written));
      }
    }
    new MultiTableCommit(catalog, changes).make();
  }

  /**
   * The change of a table that a request wants, upon the table as it is now.
   *
   * @param rows that the change shows; null for the updates that the request has
   */
  private static TableChange change(
      PointerCatalog catalog, UpdateTableRequest request, @Nullable UnseenRows rows) {
    TableOperations operations = catalog.operations(request.identifier());
    TableMetadata base = operations.current();
    TableMetadata next = rows == null ? updated(request, base) : rows.shown(base);
    return new TableChange(request.identifier(), operations, base, next);
  }

  private static TableMetadata updated(UpdateTableRequest request, @Nullable TableMetadata base) {
    boolean isNew =
        request.requirements().stream()
            .anyMatch(UpdateRequirement.AssertTableDoesNotExist.class::isInstance);
    if (base == null && !isNew) {
      throw new NoSuchTableException("Table does not exist: %s", request.identifier());
    }
    request.requirements().forEach(each -> each.validate(base));
    TableMetadata.Builder builder =
        base == null ? empty(request.updates()) : TableMetadata.buildFrom(base);
    request.updates().forEach(each -> each.applyTo(builder));
    return builder.build();
  }

  private static TableMetadata.Builder empty(List<MetadataUpdate> updates) {
    return updates.stream()
        .filter(UpgradeFormatVersion.class::isInstance)
        .map(each -> TableMetadata.buildFromEmpty(((UpgradeFormatVersion) each).formatVersion()))
        .findFirst()
        .orElseGet(TableMetadata::buildFromEmpty);
  }

  /**
   * All snapshots that the requests add are there: an answer was lost, and the client asks anew.
   */
  private static boolean isMade(PointerCatalog catalog, List<UpdateTableRequest> requests) {
    boolean hasSnapshots = false;
    for (UpdateTableRequest request : requests) {
      for (MetadataUpdate update : request.updates()) {
        if (update instanceof AddSnapshot added) {
          hasSnapshots = true;
          if (!isThere(catalog.operations(request.identifier()).current(), added.snapshot())) {
            return false;
          }
        }
      }
    }
    return hasSnapshots;
  }

  private static boolean isThere(@Nullable TableMetadata table, Snapshot wanted) {
    Snapshot there = table == null ? null : table.snapshot(wanted.snapshotId());
    return there != null
        && Objects.equals(there.manifestListLocation(), wanted.manifestListLocation());
  }
}
