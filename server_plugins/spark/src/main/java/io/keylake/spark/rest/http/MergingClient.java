package io.keylake.spark.rest.http;

import java.util.HashMap;
import java.util.Map;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.rest.RESTCatalog;

/** The word by which a client of a catalog says that it merges keyed tables by itself. */
public final class MergingClient {
  /** The header of a request. */
  static final String HEADER = "X-Keylake-Client";

  static final String MERGES = "merges";

  /** Iceberg's options for headers begin so. */
  private static final String OPTION = "header." + HEADER;

  private MergingClient() {}

  /** The options of a catalog of Spark, by which a REST catalog is told that this client merges. */
  public static Map<String, String> told(Map<String, String> options) {
    if (!isRest(options) || options.keySet().stream().anyMatch(OPTION::equalsIgnoreCase)) {
      return options;
    }
    Map<String, String> all = new HashMap<>(options);
    all.put(OPTION, MERGES);
    return all;
  }

  private static boolean isRest(Map<String, String> options) {
    return CatalogUtil.ICEBERG_CATALOG_TYPE_REST.equalsIgnoreCase(
            options.get(CatalogUtil.ICEBERG_CATALOG_TYPE))
        || RESTCatalog.class.getName().equals(options.get("catalog-impl"));
  }
}
