package io.keylake.spark.rest;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.sun.net.httpserver.HttpServer;
import io.keylake.spark.access.AccessControl;
import io.keylake.spark.rest.http.Failures;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.channels.UnresolvedAddressException;
import java.nio.file.Path;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import org.apache.spark.SparkConf;

/**
 * Iceberg's REST catalog over HTTP, for engines without the plug-in. It serves the catalogs of this
 * server, with the token of Connect, from its start until the end of the context.
 */
public final class CatalogServer {
  /** The port; 0 takes a free one. Without it, nothing is served. */
  public static final String PORT = "spark.keylake.catalog.port";

  /** The address to listen on. */
  private static final String HOST = "spark.keylake.catalog.host";

  /** The file that gets the port. */
  private static final String PORT_FILE = "spark.keylake.catalog.port-file";

  /** The bytes that answers may have which are kept for other clients that load the same table. */
  private static final String CACHE_BYTES = "spark.keylake.catalog.cache-bytes";

  private static final String DEFAULT_CACHE_BYTES = "67108864";
  private static final String LOOPBACK = "127.0.0.1";
  private static final int MOST_PORT = 65_535;
  private static final int THREADS = 16;
  private static final int MOST_WAITING = 256; // beyond them, connections are closed
  private static final long IDLE_SECONDS = 60;
  private static final int BACKLOG_OF_THE_SYSTEM = 0;

  static {
    // Java's server reads these once: small answers leave at once, and a client that does not send
    // its request holds no thread for ever.
    setUnlessSet("sun.net.httpserver.nodelay", "true");
    setUnlessSet("sun.net.httpserver.maxReqTime", "120"); // seconds
  }

  private final HttpServer http;
  private final ExecutorService threads;

  private CatalogServer(HttpServer http, ExecutorService threads) {
    this.http = http;
    this.threads = threads;
  }

  /**
   * Starts to serve.
   *
   * @param implementation the class of the catalogs that are served
   * @param keyed what clients that do not merge load of keyed tables
   */
  public static CatalogServer start(SparkConf conf, String implementation, KeyedTables keyed) {
    if (!conf.get(AccessControl.POLICY, "").isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "the server has an access policy (%s), which the catalog for other engines (%s) does not enforce yet; take one of both settings away"
              .formatted(AccessControl.POLICY, PORT));
    }
    BearerToken token = BearerToken.of(conf);
    Routes routes = new Routes(new ServedCatalogs(implementation), keyed, cacheBytes(conf));
    HttpServer http = bound(conf.get(HOST, LOOPBACK), port(conf));
    http.createContext("/", new CatalogHandler(token, routes));
    CatalogServer server = new CatalogServer(http, threads());
    http.setExecutor(server.threads);
    server.serve();
    String file = conf.get(PORT_FILE, "");
    if (!file.isEmpty()) {
      new PortFile(Path.of(file)).write(String.valueOf(http.getAddress().getPort()));
    }
    return server;
  }

  /** The thread that takes connections is a daemon if the one is that starts it. */
  private void serve() {
    Thread starter = daemon(http::start);
    starter.start();
    try {
      starter.join();
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
    }
  }

  /** Ends connections, and takes no others. */
  public void stop() {
    http.stop(0);
    threads.shutdownNow();
  }

  private static ExecutorService threads() {
    ThreadPoolExecutor threads =
        new ThreadPoolExecutor(
            THREADS,
            THREADS,
            IDLE_SECONDS,
            TimeUnit.SECONDS,
            new ArrayBlockingQueue<>(MOST_WAITING),
            CatalogServer::daemon);
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  private static Thread daemon(Runnable work) {
    Thread thread = new Thread(work, "keylake-catalog");
    thread.setDaemon(true);
    thread.setContextClassLoader(CatalogServer.class.getClassLoader());
    return thread;
  }

  private static HttpServer bound(String host, int port) {
    try {
      return HttpServer.create(new InetSocketAddress(host, port), BACKLOG_OF_THE_SYSTEM);
    } catch (IOException | UnresolvedAddressException e) {
      throw new KeylakeException(
          DEFINITION,
          "the catalog for other engines cannot listen on %s, port %d: %s; name an address of this machine in %s and a port that is free in %s (0 takes one)"
              .formatted(host, port, Failures.firstLine(e), HOST, PORT),
          e);
    }
  }

  private static long cacheBytes(SparkConf conf) {
    String bytes = conf.get(CACHE_BYTES, DEFAULT_CACHE_BYTES);
    if (!bytes.matches("\\d{1,15}")) {
      throw new KeylakeException(
          DEFINITION,
          "%s is '%s'; use a number of bytes, such as %s, or 0 to keep no answers"
              .formatted(CACHE_BYTES, bytes, DEFAULT_CACHE_BYTES));
    }
    return Long.parseLong(bytes);
  }

  private static int port(SparkConf conf) {
    String port = conf.get(PORT);
    if (!port.matches("\\d{1,5}") || Integer.parseInt(port) > MOST_PORT) {
      throw new KeylakeException(
          DEFINITION,
          "%s is '%s'; use a port from 0, which takes a free one, to %d"
              .formatted(PORT, port, MOST_PORT));
    }
    return Integer.parseInt(port);
  }

  private static void setUnlessSet(String property, String value) {
    if (System.getProperty(property) == null) {
      System.setProperty(property, value);
    }
  }
}
