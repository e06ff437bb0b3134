package io.keylake.spark.rest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.apache.spark.SparkConf;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** When the catalog is served, and when the server does not start. */
class CatalogServerTest {
  private static SparkConf conf(Map<String, String> settings) {
    SparkConf conf = new SparkConf(false);
    conf.set("spark.keylake.catalog.port", "0");
    conf.set("spark.connect.authenticate.token", "sesame");
    settings.forEach(conf::set);
    return conf;
  }

  /** The tests ask for no table. */
  private static final class NoTables implements KeyedTables {
    @Override
    public LoadTableResponse load(
        UUID table, @Nullable String ref, Supplier<Table> newest, @Nullable Duration freshness) {
      throw new UnsupportedOperationException();
    }

    @Override
    public LoadTableResponse commit(
        Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit) {
      throw new UnsupportedOperationException();
    }

    @Override
    public Optional<UnseenRows> write(
        Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit) {
      throw new UnsupportedOperationException();
    }

    @Override
    public void outdate(UUID table) {
      throw new UnsupportedOperationException();
    }
  }

  private static CatalogServer start(SparkConf conf) {
    return CatalogServer.start(conf, "io.keylake.spark.KeylakeCatalog", new NoTables());
  }

  private static void assertRefused(SparkConf conf, String sentence) {
    String told = assertThrows(KeylakeException.class, () -> start(conf)).sentence();
    assertTrue(told.contains(sentence), told);
  }

  @Test
  void refusesWhatItCannotServe() throws IOException {
    assertRefused(
        conf(Map.of("spark.keylake.access.policy", "policy.yaml")),
        "does not enforce yet; take one of both settings away");
    assertRefused(
        conf(Map.of("spark.connect.authenticate.token", "")), "is not served without a token");
    for (String port : new String[] {"", "x", "-1", "65536", "123456"}) {
      assertRefused(
          conf(Map.of("spark.keylake.catalog.port", port)),
          "spark.keylake.catalog.port is '%s'; use a port from 0".formatted(port));
    }
    assertRefused(
        conf(Map.of("spark.keylake.catalog.cache-bytes", "64m")),
        "spark.keylake.catalog.cache-bytes is '64m'; use a number of bytes");
    assertRefused(
        conf(Map.of("spark.keylake.catalog.host", "192.0.2.1")), "cannot listen on 192.0.2.1");
    try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
      String port = String.valueOf(taken.getLocalPort());
      assertRefused(
          conf(Map.of("spark.keylake.catalog.port", port)),
          "cannot listen on 127.0.0.1, port %s".formatted(port));
    }
  }

  @Test
  void answersBeforeThereIsASession(@TempDir Path folder) throws Exception {
    Path file = folder.resolve("port");
    CatalogServer server = start(conf(Map.of("spark.keylake.catalog.port-file", file.toString())));
    try {
      URI place = URI.create("http://127.0.0.1:%s/v1/config".formatted(Files.readString(file)));
      HttpRequest request =
          HttpRequest.newBuilder(place).header("Authorization", "Bearer sesame").build();
      HttpResponse<String> answer =
          HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
      assertEquals(503, answer.statusCode());
      assertTrue(answer.body().contains("the server is starting"), answer.body());
    } finally {
      server.stop();
    }
  }
}
