package io.keylake.tables.storage;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.TableProperties;

/**
 * Iceberg's properties of how tables are written, as statements set them. Iceberg looks at them
 * when a table is written, so a wrong value would fail every later write.
 */
public final class WriteProperties {
  private static final Set<String> COUNTS =
      Set.of(
          TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
          TableProperties.DELETE_TARGET_FILE_SIZE_BYTES,
          TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
          TableProperties.PARQUET_PAGE_SIZE_BYTES,
          TableProperties.PARQUET_PAGE_ROW_LIMIT,
          TableProperties.PARQUET_DICT_SIZE_BYTES,
          TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT,
          TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT,
          TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES,
          TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
          TableProperties.MANIFEST_TARGET_SIZE_BYTES,
          TableProperties.MANIFEST_MIN_MERGE_COUNT);

  private static final Set<String> FORMATS = Set.of("parquet", "orc", "avro");
  private static final Set<String> CODECS_OF_FILES =
      Set.of("zstd", "gzip", "snappy", "lz4", "lz4_raw", "brotli", "lzo", "uncompressed", "none");

  private static final Map<String, Set<String>> WORDS =
      Map.of(
          TableProperties.DEFAULT_FILE_FORMAT, FORMATS,
          TableProperties.DELETE_DEFAULT_FILE_FORMAT, FORMATS,
          TableProperties.PARQUET_COMPRESSION, CODECS_OF_FILES,
          TableProperties.DELETE_PARQUET_COMPRESSION, CODECS_OF_FILES,
          TableProperties.METADATA_COMPRESSION, Set.of("none", "gzip"),
          TableProperties.WRITE_DISTRIBUTION_MODE, Set.of("none", "hash", "range"),
          TableProperties.UPDATE_MODE, Set.of("copy-on-write", "merge-on-read"),
          TableProperties.DELETE_MODE, Set.of("copy-on-write", "merge-on-read"),
          TableProperties.MERGE_MODE, Set.of("copy-on-write", "merge-on-read"));

  private WriteProperties() {}

  /** Refuses a value with which the table could not be written. */
  public static void check(String property, String value) {
    if (property.equals(TableProperties.WRITE_LOCATION_PROVIDER_IMPL)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "property '%s' is '%s', a class that every server would load to write the table; a keyed table takes Iceberg's own locations, so leave it out"
              .formatted(property, value));
    }
    if (COUNTS.contains(property) && !isCount(value)) {
      throw refused(property, value, "a whole number from 1");
    }
    Set<String> words = WORDS.get(property);
    if (words != null && !words.contains(value.toLowerCase(Locale.ROOT))) {
      throw refused(
          property, value, "one of " + String.join(", ", words.stream().sorted().toList()));
    }
    if (property.equals(TableProperties.DEFAULT_WRITE_METRICS_MODE)
        || property.startsWith(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX)) {
      checkMetrics(property, value);
    }
  }

  private static boolean isCount(String value) {
    try {
      return Long.parseLong(value.strip()) > 0;
    } catch (NumberFormatException e) {
      return false;
    }
  }

  private static void checkMetrics(String property, String value) {
    try {
      MetricsModes.fromString(value);
    } catch (RuntimeException e) {
      throw refused(property, value, "none, counts, truncate(<length>) or full");
    }
  }

  private static KeylakeException refused(String property, String value, String mustBe) {
    return new KeylakeException(
        DEFINITION, "property '%s' is '%s'; it must be %s".formatted(property, value, mustBe));
  }
}
