package io.keylake.spark.rest;

import static io.keylake.tables.KeylakeException.Kind.UNAVAILABLE;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Predicate;
import org.apache.iceberg.CatalogProperties;
import org.apache.iceberg.catalog.Catalog;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The catalogs of Spark that are served: those of this server's settings whose class is ours. They
 * are the ones that sessions of Connect use, and are opened by the first request.
 *
 * @param implementation the name of the class
 */
record ServedCatalogs(String implementation) {
  private static final String SETTING = "spark.sql.catalog.";
  private static final String USUAL = "spark.sql.defaultCatalog";

  /** Options of a catalog by which its clients find the store, none of them a secret. */
  private static final List<String> OF_THE_STORE =
      List.of("s3.endpoint", "s3.path-style-access", "client.region", "s3.region");

  /** Properties of new tables and views, which clients add, not the catalog behind. */
  private static final List<String> DEFAULTS =
      List.of(CatalogProperties.TABLE_DEFAULT_PREFIX, CatalogProperties.VIEW_DEFAULT_PREFIX);

  private static final List<String> OVERRIDES =
      List.of(CatalogProperties.TABLE_OVERRIDE_PREFIX, CatalogProperties.VIEW_OVERRIDE_PREFIX);

  /** The name of the catalog that clients get that name none. */
  String usual() {
    return session().conf().get(USUAL, "spark_catalog");
  }

  boolean has(String name) {
    return names().contains(name);
  }

  /** The names of the catalogs, in order. */
  List<String> names() {
    return settings().entrySet().stream()
        .filter(each -> each.getValue().equals(implementation))
        .map(each -> each.getKey().substring(SETTING.length()))
        .filter(name -> name.indexOf('.') < 0)
        .toList();
  }

  /** The options that clients get unless they say otherwise: those of the store, and defaults. */
  Map<String, String> defaults(String name) {
    return options(name, option -> OF_THE_STORE.contains(option) || isOf(DEFAULTS, option));
  }

  /** The options that clients get whatever they say. */
  Map<String, String> overrides(String name) {
    return options(name, option -> isOf(OVERRIDES, option));
  }

  private static Map<String, String> options(String name, Predicate<String> isGiven) {
    String beginning = SETTING + name + ".";
    Map<String, String> found = new HashMap<>(); // Iceberg asks it for a null key
    settings()
        .forEach(
            (setting, value) -> {
              if (setting.startsWith(beginning)
                  && isGiven.test(setting.substring(beginning.length()))) {
                found.put(setting.substring(beginning.length()), value);
              }
            });
    return found;
  }

  private static boolean isOf(List<String> beginnings, String option) {
    return beginnings.stream().anyMatch(option::startsWith);
  }

  /** The option of that name of a catalog; null where it has none. */
  @Nullable String warehouse(String name) {
    return settings().get(SETTING + name + ".warehouse");
  }

  /** The catalog, without a cache of tables. */
  Catalog named(String name) {
    SparkSession session = session();
    SparkSession.setActiveSession(session); // catalogs read its settings
    try {
      return ((KeyedCatalog) ClassicSession.of(session).catalogs().catalog(name)).sharedCatalog();
    } catch (RuntimeException e) {
      throw StoreFailure.asking(name, e);
    } finally {
      SparkSession.clearActiveSession();
    }
  }

  private static Map<String, String> settings() {
    Map<String, String> found = new TreeMap<>();
    CollectionConverters.asJava(session().conf().getAll())
        .forEach(
            (name, value) -> {
              if (name.startsWith(SETTING)) {
                found.put(name, value);
              }
            });
    return found;
  }

  private static SparkSession session() {
    Option<SparkSession> session = SparkSession.getDefaultSession();
    if (session.isEmpty()) {
      throw new KeylakeException(
          UNAVAILABLE, "the server is starting and has no session yet; try again in a moment");
    }
    return session.get();
  }
}
