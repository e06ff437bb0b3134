package io.keylake.plaindeletes.conversion;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The policy that says when maintenance turns the equality deletes of a plain table into positions.
 * It lies in the table property {@value #PROPERTY} as JSON; a member that is not there has its
 * default. A table without the property is left alone.
 *
 * <p>One limit that is exceeded is enough. Each stands for something that deletes cost: opening
 * files, memory of readers, and for tables with few deletes looking them up for ever.
 *
 * @param maxFiles of equality deletes
 * @param maxShare of the rows of equality deletes in the rows of data
 * @param maxHours since the oldest equality delete was committed; null for any time
 */
public record EqualityDeletePolicy(long maxFiles, double maxShare, @Nullable Double maxHours) {
  public static final String PROPERTY = "keylake.equality-deletes";
  static final EqualityDeletePolicy DEFAULT = new EqualityDeletePolicy(100, 0.1, 24.0);

  private static final List<String> MEMBERS = List.of("max_files", "max_share", "max_hours");
  private static final double SECONDS_AN_HOUR = 3600;

  public EqualityDeletePolicy {
    require(maxFiles >= 0, "max_files", maxFiles, "0 or more");
    require(maxShare >= 0, "max_share", maxShare, "0 or more");
    require(
        maxHours == null || maxHours >= 0,
        "max_hours",
        maxHours,
        "0 or more, or null for no limit");
  }

  private static void require(boolean holds, String name, @Nullable Object value, String limit) {
    if (!holds) {
      throw new KeylakeException(
          DEFINITION,
          "the policy in %s has %s %s; it must be %s".formatted(PROPERTY, name, value, limit));
    }
  }

  /** The policy of a table; empty where it has none. */
  public static Optional<EqualityDeletePolicy> of(Table table) {
    return Optional.ofNullable(table.properties().get(PROPERTY))
        .map(EqualityDeletePolicy::fromJson);
  }

  public static EqualityDeletePolicy fromJson(String json) {
    JsonNode node = SpecJson.parse("the policy in " + PROPERTY, json);
    List<String> unknown = SpecJson.unknown(node, MEMBERS);
    if (!node.isObject() || !unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "the policy in %s is a JSON object with the members %s, not %s"
              .formatted(PROPERTY, String.join(", ", MEMBERS), json));
    }
    JsonNode files = node.get("max_files");
    JsonNode share = node.get("max_share");
    JsonNode hours = node.get("max_hours");
    require(
        files == null || files.canConvertToExactIntegral(), "max_files", files, "a whole number");
    require(share == null || share.isNumber(), "max_share", share, "a number");
    require(
        hours == null || hours.isNumber() || hours.isNull(),
        "max_hours",
        hours,
        "a number or null");
    return new EqualityDeletePolicy(
        files == null ? DEFAULT.maxFiles : files.longValue(),
        share == null ? DEFAULT.maxShare : share.doubleValue(),
        hours == null
            ? DEFAULT.maxHours
            : hours.isNull() ? null : Double.valueOf(hours.doubleValue()));
  }

  /** The reason why deletes are to be applied; empty where they are within the limits. */
  public Optional<String> because(DeleteBacklog backlog, Instant now) {
    if (backlog.files() > maxFiles) {
      return Optional.of(
          "%d files of equality deletes, and max_files is %d".formatted(backlog.files(), maxFiles));
    }
    if (backlog.rows() > maxShare * backlog.dataRows()) {
      return Optional.of(
          "%d rows of equality deletes for %d rows of data, and max_share is %s"
              .formatted(backlog.rows(), backlog.dataRows(), maxShare));
    }
    if (maxHours != null && backlog.isOldestExpired()) {
      return Optional.of("the commit of the oldest equality delete has expired");
    }
    Instant oldest = backlog.oldest();
    if (oldest != null && maxHours != null) {
      double hours = Duration.between(oldest, now).toSeconds() / SECONDS_AN_HOUR;
      if (hours > maxHours) {
        return Optional.of(
            "the oldest equality delete is %.1f hours old, and max_hours is %s"
                .formatted(hours, maxHours));
      }
    }
    return Optional.empty();
  }
}
