package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.Request;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.catalogs.PointerCatalog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.SupportsNamespaces;
import org.apache.iceberg.catalog.ViewCatalog;
import org.apache.iceberg.rest.Endpoint;
import org.apache.iceberg.rest.responses.ConfigResponse;
import org.apache.iceberg.rest.responses.ConfigResponseParser;

/** Answers requests: the configuration of a catalog, and what its path and method say. */
final class Routes {
  private static final List<String> CONFIGURATION = List.of("v1", "config");

  private final ServedCatalogs catalogs;
  private final List<Route> ofNamespaces =
      List.of(
          Route.of(Endpoint.V1_LIST_NAMESPACES, NamespaceCalls::list),
          Route.of(Endpoint.V1_CREATE_NAMESPACE, NamespaceCalls::create),
          Route.of(Endpoint.V1_LOAD_NAMESPACE, NamespaceCalls::load),
          Route.of(Endpoint.V1_NAMESPACE_EXISTS, NamespaceCalls::exists),
          Route.of(Endpoint.V1_UPDATE_NAMESPACE, NamespaceCalls::update),
          Route.of(Endpoint.V1_DELETE_NAMESPACE, NamespaceCalls::drop));
  private final List<Route> ofTables;
  private final List<Route> ofTransactions;
  private final List<Route> ofViews =
      List.of(
          Route.of(Endpoint.V1_LIST_VIEWS, ViewCalls::list),
          Route.of(Endpoint.V1_CREATE_VIEW, ViewCalls::create),
          Route.of(Endpoint.V1_LOAD_VIEW, ViewCalls::load),
          Route.of(Endpoint.V1_VIEW_EXISTS, ViewCalls::exists),
          Route.of(Endpoint.V1_UPDATE_VIEW, ViewCalls::replace),
          Route.of(Endpoint.V1_DELETE_VIEW, ViewCalls::drop),
          Route.of(Endpoint.V1_RENAME_VIEW, ViewCalls::rename),
          Route.of(Endpoint.V1_REGISTER_VIEW, ViewCalls::register));

  /**
   * @param keyed what clients that do not merge load of keyed tables
   * @param cacheBytes that answers to clients which load tables may have
   */
  Routes(ServedCatalogs catalogs, KeyedTables keyed, long cacheBytes) {
    this.catalogs = catalogs;
    TableCalls tables = new TableCalls(keyed, new LoadedTables(keyed, cacheBytes));
    PlanCalls plans = new PlanCalls(keyed);
    TransactionCalls transactions = new TransactionCalls(keyed);
    this.ofTransactions = List.of(Route.of(Endpoint.V1_COMMIT_TRANSACTION, transactions::commit));
    this.ofTables =
        List.of(
            Route.of(Endpoint.V1_LIST_TABLES, tables::list),
            Route.of(Endpoint.V1_CREATE_TABLE, tables::create),
            Route.of(Endpoint.V1_REGISTER_TABLE, tables::register),
            Route.of(Endpoint.V1_LOAD_TABLE, tables::load),
            Route.of(Endpoint.V1_TABLE_EXISTS, tables::exists),
            Route.of(Endpoint.V1_UPDATE_TABLE, tables::commit),
            Route.of(Endpoint.V1_DELETE_TABLE, tables::drop),
            Route.of(Endpoint.V1_RENAME_TABLE, tables::rename),
            Route.of(Endpoint.V1_REPORT_METRICS, tables::report),
            Route.of(Endpoint.V1_SUBMIT_TABLE_SCAN_PLAN, plans::plan));
  }

  Answer answer(Request request) {
    if (request.path().equals(CONFIGURATION)) {
      checkMethod(request, List.of("GET"));
      return configuration(request);
    }
    List<Route> routes =
        Stream.of(ofNamespaces, ofTables, ofTransactions, ofViews)
            .flatMap(List::stream)
            .filter(each -> each.names(request.path()).isPresent())
            .toList();
    if (routes.isEmpty()) {
      throw RequestRefused.notFound(
          "there is nothing at /%s; begin with GET /v1/config, which lists the endpoints"
              .formatted(String.join("/", request.path())));
    }
    checkMethod(request, routes.stream().map(each -> each.endpoint().httpMethod()).toList());
    Route route =
        routes.stream()
            .filter(each -> each.endpoint().httpMethod().equals(request.method()))
            .findFirst()
            .orElseThrow();
    Map<String, String> names = route.names(request.path()).orElseThrow();
    String name = names.getOrDefault("prefix", "");
    Catalog catalog = catalog(name);
    return route.action().apply(new Call(request, names, catalog, catalogs.warehouse(name)));
  }

  private static void checkMethod(Request request, List<String> allowed) {
    if (!allowed.contains(request.method())) {
      throw new RequestRefused(
          405,
          "BadRequestException",
          "%s is no method of /%s; use %s"
              .formatted(
                  request.method(),
                  String.join("/", request.path()),
                  String.join(" or ", allowed)));
    }
  }

  private Catalog catalog(String name) {
    if (!catalogs.has(name)) {
      throw RequestRefused.notFound(noCatalog(name));
    }
    return catalogs.named(name);
  }

  private Answer configuration(Request request) {
    String name =
        request.parameter("warehouse").filter(each -> !each.isEmpty()).orElseGet(catalogs::usual);
    if (!catalogs.has(name)) {
      throw RequestRefused.bad(noCatalog(name)); // clients take 404 for a service that is away
    }
    ConfigResponse configuration =
        ConfigResponse.builder()
            .withDefaults(catalogs.defaults(name))
            .withOverrides(catalogs.overrides(name))
            .withOverride("prefix", name)
            .withEndpoints(endpoints(catalogs.named(name)))
            .build();
    return Answer.of(ConfigResponseParser.toJson(configuration));
  }

  private List<Endpoint> endpoints(Catalog catalog) {
    List<Route> routes = new ArrayList<>(ofTables);
    if (catalog instanceof SupportsNamespaces) {
      routes.addAll(ofNamespaces);
    }
    if (catalog instanceof PointerCatalog) {
      routes.addAll(ofTransactions);
    }
    if (catalog instanceof ViewCatalog) {
      routes.addAll(ofViews);
    }
    return routes.stream().map(Route::endpoint).toList();
  }

  private String noCatalog(String name) {
    return "this server has no catalog %s for other engines; name one that it has as the warehouse: %s"
        .formatted(name, String.join(", ", catalogs.names()));
  }
}
