package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.requests.CreateViewRequestParser;
import org.apache.iceberg.rest.requests.RegisterViewRequestParser;
import org.apache.iceberg.rest.requests.UpdateTableRequestParser;
import org.apache.iceberg.rest.responses.ListTablesResponse;
import org.apache.iceberg.rest.responses.LoadViewResponse;
import org.apache.iceberg.rest.responses.LoadViewResponseParser;

/** The calls that concern views. */
final class ViewCalls {
  private ViewCalls() {}

  static Answer list(Call call) {
    ListTablesResponse listed =
        call.pageSize()
            .map(
                size ->
                    CatalogHandlers.listViews(
                        call.views(), call.namespace(), call.pageToken(), size))
            .orElseGet(() -> CatalogHandlers.listViews(call.views(), call.namespace()));
    return Answer.of(Messages.identifiers(listed.identifiers(), listed.nextPageToken()));
  }

  static Answer create(Call call) {
    return answer(
        CatalogHandlers.createView(
            call.views(),
            call.namespace(),
            Messages.parsed(call.request().body(), CreateViewRequestParser::fromJson)));
  }

  static Answer register(Call call) {
    return answer(
        CatalogHandlers.registerView(
            call.views(),
            call.namespace(),
            Messages.parsed(call.request().body(), RegisterViewRequestParser::fromJson)));
  }

  static Answer load(Call call) {
    return answer(CatalogHandlers.loadView(call.views(), call.view()));
  }

  static Answer exists(Call call) {
    CatalogHandlers.viewExists(call.views(), call.view());
    return Answer.nothing();
  }

  static Answer replace(Call call) {
    return answer(
        CatalogHandlers.updateView(
            call.views(),
            call.view(),
            Messages.parsed(call.request().body(), UpdateTableRequestParser::fromJson)));
  }

  static Answer rename(Call call) {
    CatalogHandlers.renameView(call.views(), Messages.renaming(call.request().body()));
    return Answer.nothing();
  }

  static Answer drop(Call call) {
    CatalogHandlers.dropView(call.views(), call.view());
    return Answer.nothing();
  }

  private static Answer answer(LoadViewResponse response) {
    return Answer.of(LoadViewResponseParser.toJson(response));
  }
}
