package io.keylake.spark.write.request;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.Spelling;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.spec.HelperColumn;
import java.io.Serializable;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * The options that a writer gives beside its rows. The names of options are the words of the Python
 * verbs' parameters.
 *
 * @param version the column that holds the version of a row, or null
 * @param versionValue the version of every row, or null
 * @param versionOf for value columns that have versions of their own: the column that holds them
 * @param columnsFrom the column that lists, per row, the columns it carries, or null
 * @param op the column that says, per row, whether it writes or deletes, or null
 * @param rowOrder the column by which, at equal key and version, the larger wins, or null
 * @param retracts whether the rows take contributions back that were made before
 * @param businessTime where archived states of that time or later are there, they get the rows,
 *     too; null for a write to one branch
 * @param watermarkDelay of the batches of a stream: each is a watermark so many microseconds before
 *     the newest event time, which is in the ordering column; null for none
 * @param adopts the foreign commit whose rows these are; null for all others
 * @param readAt the commit that the rows were made of, so that the write conflicts with later ones;
 *     null where nothing was read
 * @param requirement that rows have to meet; null for none
 */
public record WriteOptions(
    Verb verb,
    @Nullable String version,
    @Nullable Long versionValue,
    Map<String, String> versionOf,
    @Nullable String columnsFrom,
    @Nullable String op,
    @Nullable String rowOrder,
    boolean retracts,
    WriteLabels labels,
    @Nullable Instant businessTime,
    @Nullable Long watermarkDelay,
    @Nullable Adopted adopts,
    @Nullable Long readAt,
    @Nullable Long targetFileSize,
    @Nullable Requirement requirement)
    implements Serializable {
  /** The delay of the watermark, in microseconds. */
  public static final String WATERMARK_DELAY = "watermark_delay";

  /** The business time whose archived states get the rows, too. */
  public static final String BUSINESS_TIME = "business_time";

  private static final String VERSION_OF = "version_of.";
  private static final List<String> NAMES =
      List.of(
          "verb",
          "version",
          "version_value",
          "columns_from",
          "op",
          "row_order",
          "retract",
          "stream",
          "writer",
          "write_id",
          "idempotency_key",
          "offsets",
          "watermark",
          BUSINESS_TIME,
          WATERMARK_DELAY,
          "adopts",
          "adopts_at",
          "read_at",
          "target-file-size-bytes",
          Requirement.REQUIRE,
          Requirement.ON_FAILURE);

  /** A foreign commit, and where its branch stood when the rows were read. */
  public record Adopted(long snapshotId, long head) implements Serializable {}

  public enum Verb {
    UPSERT,
    UPDATE,
    DELETE,
    APPLY_CHANGES,
    OVERWRITE;

    /** The word that options and summaries have. */
    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  public static WriteOptions of(Map<String, String> given, Verb unlessSaid) {
    given.keySet().forEach(WriteOptions::checkSpelling);
    CaseInsensitiveStringMap options = new CaseInsensitiveStringMap(given);
    Map<String, String> versionOf = new TreeMap<>();
    given.forEach(
        (name, value) -> {
          if (name.toLowerCase(Locale.ROOT).startsWith(VERSION_OF)) {
            versionOf.put(name.substring(VERSION_OF.length()), value);
          }
        });
    Instant watermark = time(options, "watermark");
    return new WriteOptions(
        verb(options.get("verb"), unlessSaid),
        options.get("version"),
        number(options, "version_value"),
        versionOf,
        options.get("columns_from"),
        options.get("op"),
        options.get("row_order"),
        options.getBoolean("retract", false),
        new WriteLabels(
            options.get("stream"),
            options.get("writer"),
            options.get("write_id"),
            options.get("idempotency_key"),
            OffsetRanges.parse("option offsets", options.get("offsets")),
            watermark == null ? null : PointInTime.micros(watermark)),
        time(options, BUSINESS_TIME),
        number(options, WATERMARK_DELAY),
        adopted(options),
        number(options, "read_at"),
        number(options, "target-file-size-bytes"),
        Requirement.of(options.get(Requirement.REQUIRE), options.get(Requirement.ON_FAILURE)));
  }

  /**
   * The same without a version column: naming the ordering column as the version is saying what is
   * so anyway.
   */
  public WriteOptions versionedBy(@Nullable String ordering) {
    if (version == null || !version.equalsIgnoreCase(ordering)) {
      return this;
    }
    return new WriteOptions(
        verb,
        null,
        versionValue,
        versionOf,
        columnsFrom,
        op,
        rowOrder,
        retracts,
        labels,
        businessTime,
        watermarkDelay,
        adopts,
        readAt,
        targetFileSize,
        requirement);
  }

  /**
   * A statement has computed the versions. It says them beside the ordering column where only some
   * of its rows set that column.
   */
  public boolean isVersionedByStatement() {
    return HelperColumn.VERSION.equals(version);
  }

  /** A statement says which columns a row carries. People who name none forgot them. */
  public boolean isListedByStatement() {
    return HelperColumn.COLUMNS_FROM.equals(columnsFrom);
  }

  /**
   * Rows of one key may be combined before they are written: they take nothing back, all columns of
   * a row have its version, and none is held back.
   */
  public boolean mayCombineRows() {
    return !retracts && versionOf.isEmpty() && requirement == null;
  }

  /** Refuses an option that is nearly one of ours: the write would be another than was meant. */
  private static void checkSpelling(String option) {
    String meant = Spelling.meant(option.toLowerCase(Locale.ROOT), NAMES);
    if (meant != null) {
      throw new KeylakeException(
          DEFINITION,
          "the option '%s' of a write is none. Did you mean '%s'?".formatted(option, meant));
    }
  }

  private static @Nullable Adopted adopted(CaseInsensitiveStringMap options) {
    Long adopts = number(options, "adopts");
    Long at = number(options, "adopts_at");
    if ((adopts == null) != (at == null)) {
      throw new KeylakeException(
          BAD_ROWS,
          "of the options adopts and adopts_at only %s is given; give both, or call adopt_commit"
              .formatted(adopts == null ? "adopts_at" : "adopts"));
    }
    return adopts == null || at == null ? null : new Adopted(adopts, at);
  }

  private static @Nullable Instant time(CaseInsensitiveStringMap options, String name) {
    String text = options.get(name);
    return text == null ? null : PointInTime.of("option " + name, text);
  }

  private static Verb verb(@Nullable String word, Verb unlessSaid) {
    if (word == null) {
      return unlessSaid;
    }
    for (Verb verb : Verb.values()) {
      if (verb.word().equals(word)) {
        boolean replaces = verb == Verb.OVERWRITE;
        if (replaces != (unlessSaid == Verb.OVERWRITE)) {
          throw new KeylakeException(
              UNSUPPORTED,
              "the verb '%s' does not go with this kind of write; overwrite replaces, all others append"
                  .formatted(word));
        }
        return verb;
      }
    }
    throw new KeylakeException(
        UNSUPPORTED,
        "the verb '%s' is unknown; it is upsert, update, delete, apply_changes or overwrite"
            .formatted(word));
  }

  private static @Nullable Long number(CaseInsensitiveStringMap options, String name) {
    String text = options.get(name);
    try {
      return text == null ? null : Long.valueOf(text.trim());
    } catch (NumberFormatException e) {
      throw new KeylakeException(
          BAD_ROWS,
          "option %s is '%s'; it must be a whole number of 64 bits".formatted(name, text));
    }
  }
}
