package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.RequestRefused;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.requests.CreateTableRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequestParser;
import org.apache.iceberg.rest.requests.RenameTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequestParser;
import org.apache.iceberg.rest.responses.ListTablesResponse;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.apache.iceberg.rest.responses.LoadTableResponseParser;

/**
 * The calls that concern tables.
 *
 * @param keyed what clients that do not merge load of keyed tables
 * @param loaded answers to clients that load tables
 */
record TableCalls(KeyedTables keyed, LoadedTables loaded) {
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
    return loaded.load(call);
  }

  Answer exists(Call call) {
    try {
      CatalogHandlers.tableExists(call.catalog(), call.table());
    } catch (NoSuchTableException e) {
      TableRef ref = KeyedGuard.ref(call, call.table()).orElseThrow(() -> e);
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
      throw readOnly(
          "a branch or tag", KeyedGuard.ref(call, call.table()).orElseThrow(() -> e).table());
    }
  }

  static RequestRefused readOnly(String what, TableIdentifier table) {
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
    KeyedGuard.checkName(call, request.destination());
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
