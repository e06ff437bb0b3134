package io.keylake.tables.spec;

import java.util.Map;
import java.util.TreeMap;
import org.apache.iceberg.TableProperties;

/**
 * The number of files of earlier metadata that a table keeps. Each commit writes a new one with
 * every snapshot in it, so that without a limit their bytes grow with the square of the commits.
 * Nothing of keylake reads an earlier one; catalogs that do not know whether a commit was applied
 * look for it among the last.
 */
public final class MetadataLog {
  private static final Map<String, String> LIMITS =
      Map.of(
          TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED, "true",
          TableProperties.METADATA_PREVIOUS_VERSIONS_MAX, "50");

  private MetadataLog() {}

  /** The properties that limit it, without those that a table has already. */
  public static Map<String, String> missing(Map<String, String> properties) {
    Map<String, String> missing = new TreeMap<>(LIMITS);
    missing.keySet().removeAll(properties.keySet());
    return missing;
  }
}
