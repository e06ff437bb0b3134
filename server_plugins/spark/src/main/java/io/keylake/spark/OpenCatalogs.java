package io.keylake.spark;

import java.io.Closeable;
import java.io.IOException;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Supplier;
import org.apache.iceberg.catalog.Catalog;
import org.apache.spark.sql.SparkSession;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Iceberg's catalogs of this process. Sessions with the same options have the same one: a catalog
 * holds connections to its database or service, and nobody tells it when a session has ended.
 */
final class OpenCatalogs {
  /** Sessions with options of their own each are not worth holding connections for. */
  private static final int MOST = 64;

  private static final Map<Key, Catalog> OPEN = new ConcurrentHashMap<>();
  private static final Logger LOG = LoggerFactory.getLogger(OpenCatalogs.class);

  private OpenCatalogs() {}

  /**
   * Everything that a catalog is opened with.
   *
   * @param hadoop the settings of the session that Hadoop reads, credentials among them
   */
  private record Key(String name, Map<String, String> options, Map<String, String> hadoop) {
    static Key of(String name, Map<String, String> options) {
      Map<String, String> hadoop = new TreeMap<>();
      CollectionConverters.asJava(SparkSession.active().conf().getAll())
          .forEach(
              (setting, value) -> {
                if (setting.startsWith("spark.hadoop.") || !setting.startsWith("spark.")) {
                  hadoop.put(setting, value);
                }
              });
      return new Key(name, new TreeMap<>(options), hadoop);
    }
  }

  /** The catalog with these options, opened where no session has done so. */
  static Catalog of(String name, Map<String, String> options, Supplier<Catalog> opening) {
    Key key = Key.of(name, options);
    Catalog found = OPEN.get(key);
    if (found != null) {
      return found;
    }
    Catalog opened = opening.get(); // outside of a lock: it may not answer
    Catalog other = OPEN.size() < MOST ? OPEN.putIfAbsent(key, opened) : null;
    if (other == null) {
      return opened;
    }
    close(opened);
    return other;
  }

  private static void close(Catalog catalog) {
    if (catalog instanceof Closeable open) {
      try {
        open.close();
      } catch (IOException | RuntimeException e) {
        LOG.debug("A second catalog {} could not be closed.", catalog.name(), e);
      }
    }
  }
}
