import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import org.apache.hadoop.conf.Configuration;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NamespaceNotEmptyException;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.jdbc.JdbcCatalog;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode;
import org.apache.iceberg.rest.RESTSerializers;
import org.apache.iceberg.rest.requests.CreateNamespaceRequest;
import org.apache.iceberg.rest.requests.CreateTableRequest;
import org.apache.iceberg.rest.requests.RenameTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.responses.ConfigResponse;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.shaded.com.fasterxml.jackson.annotation.JsonAutoDetect.Visibility;
import org.apache.iceberg.shaded.com.fasterxml.jackson.annotation.PropertyAccessor;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.DeserializationFeature;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.PropertyNamingStrategies;

/**
 * Iceberg's REST catalog over HTTP: the paths of the protocol, answered by Iceberg's own handlers, over a catalog in
 * SQLite. It wants a token, prints its port, and ends with its standard input.
 *
 * <p>{@code java -cp ... RestServer.java WAREHOUSE TOKEN}
 */
public final class RestServer {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final List<Map.Entry<Class<? extends Exception>, Integer>> STATUSES =
      List.of(
          Map.entry(NoSuchNamespaceException.class, 404),
          Map.entry(NoSuchTableException.class, 404),
          Map.entry(AlreadyExistsException.class, 409),
          Map.entry(CommitFailedException.class, 409),
          Map.entry(NamespaceNotEmptyException.class, 409),
          Map.entry(ValidationException.class, 400),
          Map.entry(IllegalArgumentException.class, 400));

  private final JdbcCatalog catalog = new JdbcCatalog();
  private final String token;

  private RestServer(String warehouse, String token) {
    this.token = token;
    JSON.setVisibility(PropertyAccessor.FIELD, Visibility.ANY);
    JSON.configure(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES, false);
    JSON.setPropertyNamingStrategy(new PropertyNamingStrategies.KebabCaseStrategy());
    RESTSerializers.registerAll(JSON);
    catalog.setConf(new Configuration());
    catalog.initialize(
        "behind",
        Map.of(
            "uri", "jdbc:sqlite:" + warehouse + "/rest.db",
            "warehouse", warehouse,
            "jdbc.schema-version", "V1"));
  }

  public static void main(String[] arguments) throws IOException {
    RestServer server = new RestServer(arguments[0], arguments[1]);
    HttpServer http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
    http.setExecutor(Executors.newFixedThreadPool(4));
    http.createContext("/v1/", server::answer);
    http.start();
    System.out.println(http.getAddress().getPort());
    while (System.in.read() >= 0) {
      // its owner is there
    }
    http.stop(0);
    System.exit(0);
  }

  private void answer(HttpExchange exchange) throws IOException {
    int status = 200;
    Object answer;
    try {
      answer = authorized(exchange) ? handled(exchange) : error(401, "NotAuthorizedException", "wrong token");
    } catch (RuntimeException e) {
      answer = error(status(e), e.getClass().getSimpleName(), String.valueOf(e.getMessage()));
    }
    if (answer instanceof ErrorResponse error) {
      status = error.code();
    }
    byte[] body = answer == null ? new byte[0] : JSON.writeValueAsBytes(answer);
    exchange.getResponseHeaders().set("Content-Type", "application/json");
    boolean isEmpty = answer == null || exchange.getRequestMethod().equals("HEAD");
    exchange.sendResponseHeaders(answer == null ? 204 : status, isEmpty ? -1 : body.length);
    if (!isEmpty) {
      exchange.getResponseBody().write(body);
    }
    exchange.close();
  }

  private boolean authorized(HttpExchange exchange) {
    return ("Bearer " + token).equals(exchange.getRequestHeaders().getFirst("Authorization"));
  }

  private static int status(RuntimeException error) {
    return STATUSES.stream()
        .filter(each -> each.getKey().isInstance(error))
        .findFirst()
        .map(Map.Entry::getValue)
        .orElse(500);
  }

  private static ErrorResponse error(int code, String type, String message) {
    return ErrorResponse.builder().responseCode(code).withType(type).withMessage(message).build();
  }

  /** Null where there is nothing to say. */
  private Object handled(HttpExchange exchange) {
    String[] path = exchange.getRequestURI().getRawPath().substring("/v1/".length()).split("/");
    String what = exchange.getRequestMethod() + " " + (path.length == 1 ? path[0] : shape(path));
    Namespace space = path.length > 1 ? namespace(path[1]) : Namespace.empty();
    TableIdentifier table = path.length > 3 ? TableIdentifier.of(space, decoded(path[3])) : null;
    switch (what) {
      case "GET config":
        return ConfigResponse.builder().build();
      case "GET namespaces":
        return CatalogHandlers.listNamespaces(catalog, parent(exchange));
      case "POST namespaces":
        return CatalogHandlers.createNamespace(catalog, body(exchange, CreateNamespaceRequest.class));
      case "GET namespaces/*":
        return CatalogHandlers.loadNamespace(catalog, space);
      case "HEAD namespaces/*":
        CatalogHandlers.namespaceExists(catalog, space);
        return null;
      case "DELETE namespaces/*":
        CatalogHandlers.dropNamespace(catalog, space);
        return null;
      case "GET namespaces/*/tables":
        return CatalogHandlers.listTables(catalog, space);
      case "POST namespaces/*/tables":
        CreateTableRequest request = body(exchange, CreateTableRequest.class);
        return request.stageCreate()
            ? CatalogHandlers.stageTableCreate(catalog, space, request)
            : CatalogHandlers.createTable(catalog, space, request);
      case "GET namespaces/*/tables/*":
        return CatalogHandlers.loadTable(catalog, table, SnapshotMode.ALL);
      case "HEAD namespaces/*/tables/*":
        CatalogHandlers.tableExists(catalog, table);
        return null;
      case "POST namespaces/*/tables/*":
        return CatalogHandlers.updateTable(catalog, table, body(exchange, UpdateTableRequest.class));
      case "DELETE namespaces/*/tables/*":
        CatalogHandlers.dropTable(catalog, table);
        return null;
      case "POST tables/rename":
        CatalogHandlers.renameTable(catalog, body(exchange, RenameTableRequest.class));
        return null;
      case "POST namespaces/*/tables/*/metrics":
        return null;
      default:
        return error(404, "NoSuchEndpointException", what);
    }
  }

  /** The path without names. */
  private static String shape(String[] path) {
    if (path[0].equals("namespaces")) {
      path = path.clone();
      for (int i = 1; i < Math.min(path.length, 4); i += 2) {
        path[i] = "*";
      }
    }
    return String.join("/", path);
  }

  private static Namespace parent(HttpExchange exchange) {
    String query = exchange.getRequestURI().getRawQuery();
    return Arrays.stream(query == null ? new String[0] : query.split("&"))
        .filter(each -> each.startsWith("parent=") && each.length() > "parent=".length())
        .findFirst()
        .map(each -> namespace(each.substring("parent=".length())))
        .orElse(Namespace.empty());
  }

  private static Namespace namespace(String encoded) {
    return Namespace.of(decoded(encoded).split("\u001f"));
  }

  private static String decoded(String encoded) {
    return URLDecoder.decode(encoded, StandardCharsets.UTF_8);
  }

  private static <T> T body(HttpExchange exchange, Class<T> type) {
    try {
      return JSON.readValue(exchange.getRequestBody(), type);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
