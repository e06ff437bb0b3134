package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.responses.CreateNamespaceResponse;
import org.apache.iceberg.rest.responses.GetNamespaceResponse;
import org.apache.iceberg.rest.responses.ListNamespacesResponse;

/** The calls that concern namespaces. */
final class NamespaceCalls {
  private NamespaceCalls() {}

  static Answer list(Call call) {
    ListNamespacesResponse listed =
        call.pageSize()
            .map(
                size ->
                    CatalogHandlers.listNamespaces(
                        call.namespaces(), call.parent(), call.pageToken(), size))
            .orElseGet(() -> CatalogHandlers.listNamespaces(call.namespaces(), call.parent()));
    return Answer.of(Messages.namespaces(listed.namespaces(), listed.nextPageToken()));
  }

  static Answer create(Call call) {
    CreateNamespaceResponse created =
        CatalogHandlers.createNamespace(
            call.namespaces(), Messages.newNamespace(call.request().body()));
    return Answer.of(Messages.namespace(created.namespace(), created.properties()));
  }

  static Answer load(Call call) {
    GetNamespaceResponse loaded =
        CatalogHandlers.loadNamespace(call.namespaces(), call.namespace());
    return Answer.of(Messages.namespace(loaded.namespace(), loaded.properties()));
  }

  static Answer exists(Call call) {
    CatalogHandlers.namespaceExists(call.namespaces(), call.namespace());
    return Answer.nothing();
  }

  static Answer update(Call call) {
    return Answer.of(
        Messages.updated(
            CatalogHandlers.updateNamespaceProperties(
                call.namespaces(),
                call.namespace(),
                Messages.newProperties(call.request().body()))));
  }

  static Answer drop(Call call) {
    CatalogHandlers.dropNamespace(call.namespaces(), call.namespace());
    return Answer.nothing();
  }
}
