package io.keylake.spark.rest;

import com.google.common.hash.Hashing;
import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.spec.TableSpec;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode;
import org.apache.iceberg.rest.requests.CreateTableRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequestParser;
import org.apache.iceberg.rest.requests.RenameTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequestParser;
import org.apache.iceberg.rest.responses.ListTablesResponse;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.apache.iceberg.rest.responses.LoadTableResponseParser;
import org.jspecify.annotations.Nullable;

/**
 * The calls that concern tables.
 *
 * @param keyed what clients that do not merge load of keyed tables
 */
record TableCalls(KeyedTables keyed) {
  Answer list(Call call) {
    ListTablesResponse listed =
        call.pageSize()
            .map(
                size ->
                    CatalogHandlers.listTables(
                        call.catalog(), call.namespace(), call.pageToken(), size))
            .orElseGet(() -> CatalogHandlers.listTables(call.catalog(), call.namespace()));
    return Answer.of(Messages.identifiers(listed.identifiers(), listed.nextPageToken()));
  }

  Answer create(Call call) {
    CreateTableRequest request = Messages.newTable(call.request().body());
    TableIdentifier name = TableIdentifier.of(call.namespace(), request.name());
    KeyedGuard.checkProperties(call, name, request.properties());
    KeyedGuard.checkPlace(call, name, request);
    return answer(
        request.stageCreate()
            ? CatalogHandlers.stageTableCreate(call.catalog(), call.namespace(), request)
            : CatalogHandlers.createTable(call.catalog(), call.namespace(), request));
  }

  Answer register(Call call) {
    RegisterTableRequest request =
        Messages.parsed(call.request().body(), RegisterTableRequestParser::fromJson);
    TableIdentifier name = TableIdentifier.of(call.namespace(), request.name());
    KeyedGuard.checkRegistered(call, name, request);
    return answer(CatalogHandlers.registerTable(call.catalog(), call.namespace(), request));
  }

  Answer load(Call call) {
    SnapshotMode mode = snapshots(call);
    LoadTableResponse loaded = loaded(call, mode);
    if (loaded.metadataLocation() == null) {
      return answer(loaded);
    }
    String tag = tag(call, loaded.metadataLocation(), mode);
    return call.request().tags().contains(tag)
        ? new Answer(304, null, tag)
        : new Answer(200, LoadTableResponseParser.toJson(loaded), tag);
  }

  private LoadTableResponse loaded(Call call, SnapshotMode mode) {
    Catalog catalog = call.catalog();
    TableIdentifier name = call.table();
    try {
      LoadTableResponse loaded = CatalogHandlers.loadTable(catalog, name, mode);
      TableMetadata table = loaded.tableMetadata();
      boolean isKeyed = table.properties().containsKey(TableSpec.PROPERTY);
      return isKeyed && !call.request().isOfMergingClient()
          ? keyed.load(
              UUID.fromString(table.uuid()),
              archived(call, name),
              () -> catalog.loadTable(name),
              call.freshness())
          : loaded;
    } catch (NoSuchTableException e) {
      return ofRef(call, KeyedGuard.ref(call).orElseThrow(() -> e));
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name.toString(), e);
    }
  }

  /** The branch of the archived state that a client asks for; null where it asks for none. */
  private static @Nullable String archived(Call call, TableIdentifier name) {
    Instant time = call.asOf();
    return time == null
        ? null
        : new HistoryBranches(call.catalog().loadTable(name)).at(time).branch();
  }

  private LoadTableResponse ofRef(Call call, TableRef ref) {
    if (call.asOf() != null) {
      throw RequestRefused.bad(
          "%s and branch or tag '%s' of table %s name two states; leave one of them out"
              .formatted(Request.AS_OF, ref.ref(), ref.table()));
    }
    try {
      Table table = call.catalog().loadTable(ref.table());
      ref.check(table);
      return keyed.load(table.uuid(), ref.ref(), () -> table, call.freshness());
    } catch (RuntimeException e) {
      throw StoreFailure.loading(ref.table().toString(), e);
    }
  }

  /** Metadata files are never written again, and what is given of one depends on who asks. */
  private static String tag(Call call, String metadataLocation, SnapshotMode mode) {
    String whole = metadataLocation + '\n' + mode + '\n' + call.request().isOfMergingClient();
    return '"' + Hashing.sha256().hashString(whole, StandardCharsets.UTF_8).toString() + '"';
  }

  private static SnapshotMode snapshots(Call call) {
    String mode = call.request().parameter("snapshots").orElse("all");
    return switch (mode.toLowerCase(Locale.ROOT)) {
      case "all" -> SnapshotMode.ALL;
      case "refs" -> SnapshotMode.REFS;
      default -> throw RequestRefused.bad("snapshots=%s is neither all nor refs".formatted(mode));
    };
  }

  Answer exists(Call call) {
    try {
      CatalogHandlers.tableExists(call.catalog(), call.table());
    } catch (NoSuchTableException e) {
      TableRef ref = KeyedGuard.ref(call).orElseThrow(() -> e);
      ref.check(call.catalog().loadTable(ref.table()));
    }
    return Answer.nothing();
  }

  Answer commit(Call call) {
    UpdateTableRequest request =
        Messages.parsed(call.request().body(), UpdateTableRequestParser::fromJson);
    KeyedGuard.checkCommit(call, call.table(), request);
    Optional<Table> table = KeyedGuard.keyed(call, call.table());
    if (table.isPresent() && call.asOf() != null) {
      throw readOnly("an archived state", call.table());
    }
    try {
      return answer(
          table
              .map(each -> keyed.commit(call.catalog(), call.table(), each, request))
              .orElseGet(() -> CatalogHandlers.updateTable(call.catalog(), call.table(), request)));
    } catch (NoSuchTableException e) {
      throw readOnly("a branch or tag", KeyedGuard.ref(call).orElseThrow(() -> e).table());
    }
  }

  private static RequestRefused readOnly(String what, TableIdentifier table) {
    return RequestRefused.forbidden(
        "%s of keyed table %s is read only for an engine that does not know its versions; write to main, or to the branch with keylake or Spark with its plug-in"
            .formatted(what, table));
  }

  Answer drop(Call call) {
    KeyedGuard.checkChange(call, call.table(), "dropped");
    if (call.request().parameter("purgeRequested").filter("true"::equalsIgnoreCase).isPresent()) {
      CatalogHandlers.purgeTable(call.catalog(), call.table());
    } else {
      CatalogHandlers.dropTable(call.catalog(), call.table());
    }
    return Answer.nothing();
  }

  Answer rename(Call call) {
    RenameTableRequest request = Messages.renaming(call.request().body());
    KeyedGuard.checkChange(call, request.source(), "renamed");
    CatalogHandlers.renameTable(call.catalog(), request);
    return Answer.nothing();
  }

  /** Reports of scans and commits are taken, and nothing is kept of them. */
  Answer report(Call call) {
    return Answer.nothing();
  }

  private static Answer answer(LoadTableResponse response) {
    return Answer.of(LoadTableResponseParser.toJson(response));
  }
}
