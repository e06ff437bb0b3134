package io.keylake.tables.storage;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.lang.reflect.Field;
import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.MetricsModes;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.mapping.NameMappingParser;

/**
 * Iceberg's properties of how tables are written and read, as statements set them. Iceberg looks at
 * them when a table is written or opened, so a wrong value would fail all that comes later.
 */
public final class WriteProperties {
  /** Properties of which 0 means nothing. */
  private static final Set<String> COUNTS =
      Set.of(
          TableProperties.WRITE_TARGET_FILE_SIZE_BYTES,
          TableProperties.DELETE_TARGET_FILE_SIZE_BYTES,
          TableProperties.PARQUET_ROW_GROUP_SIZE_BYTES,
          TableProperties.PARQUET_PAGE_ROW_LIMIT,
          TableProperties.PARQUET_ROW_GROUP_CHECK_MIN_RECORD_COUNT,
          TableProperties.PARQUET_ROW_GROUP_CHECK_MAX_RECORD_COUNT,
          TableProperties.PARQUET_BLOOM_FILTER_MAX_BYTES,
          TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
          TableProperties.MANIFEST_TARGET_SIZE_BYTES,
          TableProperties.MANIFEST_MIN_MERGE_COUNT,
          TableProperties.MIN_SNAPSHOTS_TO_KEEP);

  /** Properties of buffers, which begin with 64 bytes in Parquet. */
  private static final Set<String> PARQUET_BYTES =
      Set.of(TableProperties.PARQUET_PAGE_SIZE_BYTES, TableProperties.PARQUET_DICT_SIZE_BYTES);

  /** The types of numbers and switches, as Iceberg has them in the constants of their defaults. */
  private static final Map<String, Class<?>> TYPES = types();

  private static final int MOST_OF_COMPRESSION = 22; // of zstd, which has the most levels

  /** The formats of files; keylake writes no other, whatever a property says. */
  private static final Set<String> FORMATS = Set.of("parquet");

  private static final Set<String> CODECS_OF_FILES =
      Set.of("zstd", "gzip", "snappy", "lz4", "lz4_raw", "brotli", "lzo", "uncompressed", "none");

  private static final Set<String> MODES = Set.of("copy-on-write", "merge-on-read");

  private static final Map<String, Set<String>> WORDS =
      Map.of(
          TableProperties.DEFAULT_FILE_FORMAT, FORMATS,
          TableProperties.DELETE_DEFAULT_FILE_FORMAT, FORMATS,
          TableProperties.PARQUET_COMPRESSION, CODECS_OF_FILES,
          TableProperties.DELETE_PARQUET_COMPRESSION, CODECS_OF_FILES,
          TableProperties.METADATA_COMPRESSION, Set.of("none", "gzip"),
          TableProperties.WRITE_DISTRIBUTION_MODE, Set.of("none", "hash", "range"),
          TableProperties.UPDATE_MODE, MODES,
          TableProperties.DELETE_MODE, MODES,
          TableProperties.MERGE_MODE, MODES);

  private WriteProperties() {}

  /** Refuses a value with which the table could not be written. */
  public static void check(String property, String value) {
    if (property.equals(TableProperties.WRITE_LOCATION_PROVIDER_IMPL)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "property '%s' is '%s', a class that every server would load to write the table; a keyed table takes Iceberg's own locations, so leave it out"
              .formatted(property, value));
    }
    checkType(property, value);
    if (property.equals(TableProperties.PARQUET_COMPRESSION_LEVEL)
        && !isNumber(value, 0, MOST_OF_COMPRESSION)) {
      throw refused(property, value, "a whole number from 0 to " + MOST_OF_COMPRESSION);
    }
    Set<String> words = WORDS.get(property);
    if (words != null && !words.contains(value.toLowerCase(Locale.ROOT))) {
      String listed = String.join(", ", words.stream().sorted().toList());
      throw refused(property, value, words.size() == 1 ? listed : "one of " + listed);
    }
    if (property.equals(TableProperties.DEFAULT_WRITE_METRICS_MODE)
        || property.startsWith(TableProperties.METRICS_MODE_COLUMN_CONF_PREFIX)) {
      checkMetrics(property, value);
    }
    if (property.equals(TableProperties.DEFAULT_NAME_MAPPING)) {
      checkNames(property, value);
    }
  }

  private static void checkNames(String property, String value) {
    boolean isList = value.strip().startsWith("["); // Iceberg takes null, other readers do not
    try {
      NameMappingParser.fromJson(value);
    } catch (RuntimeException e) {
      isList = false;
    }
    if (!isList) {
      throw refused(property, value, "a name mapping of Iceberg, a JSON list");
    }
  }

  private static Map<String, Class<?>> types() {
    Map<String, Class<?>> types = new HashMap<>();
    for (Field constant : TableProperties.class.getFields()) {
      Class<?> type = constant.getType();
      String property = constant.getName().replaceFirst("_DEFAULT$", "");
      if (type.isPrimitive() && !property.equals(constant.getName())) {
        try {
          types.put((String) TableProperties.class.getField(property).get(null), type);
        } catch (NoSuchFieldException e) {
          continue; // the default of something else, such as of a property for each column
        } catch (IllegalAccessException e) {
          throw new IllegalStateException("constants of Iceberg are public", e);
        }
      }
    }
    return Map.copyOf(types);
  }

  private static void checkType(String property, String value) {
    Class<?> type = TYPES.get(property);
    if (type == boolean.class
        && !Set.of("true", "false").contains(value.toLowerCase(Locale.ROOT))) {
      throw refused(property, value, "true or false");
    }
    if (type == int.class || type == long.class) {
      long least = PARQUET_BYTES.contains(property) ? 64 : COUNTS.contains(property) ? 1 : 0;
      long most = type == int.class ? Integer.MAX_VALUE : Long.MAX_VALUE;
      if (!isNumber(value, least, most)) {
        throw refused(property, value, "a whole number from %d to %d".formatted(least, most));
      }
    }
  }

  private static boolean isNumber(String value, long least, long most) {
    try {
      long number = Long.parseLong(value); // as Iceberg reads it, without blanks around it
      return least <= number && number <= most;
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
