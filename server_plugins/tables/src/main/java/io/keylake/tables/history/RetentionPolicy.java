package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The policy that says what of a table's past is kept. It lies in the table property {@value
 * #PROPERTY} as JSON. Tags and branches keep what they stand on, whatever is said here.
 *
 * @param days what was the newest snapshot of its branch within so many days is kept; null for all
 * @param snapshots so many are kept on each branch, however old they are
 * @param maxSnapshots of a branch no more are kept, however young they are; null for no limit
 * @param orphanDays files that no snapshot knows are deleted when they are older than that: younger
 *     ones may belong to a write that is not committed yet
 * @param historyDays archived states of a younger business time are kept; null for all
 * @param historyMonths of the older ones, the last of each month is kept for so many months
 * @param idempotencyDays the key of a commit is known for so long, also where its snapshot has
 *     expired
 */
public record RetentionPolicy(
    @Nullable Double days,
    int snapshots,
    @Nullable Integer maxSnapshots,
    double orphanDays,
    @Nullable Double historyDays,
    int historyMonths,
    double idempotencyDays) {
  public static final String PROPERTY = "keylake.retention";

  /**
   * The policy of tables that say nothing: a week, as far as a commit need not write too many of
   * them again.
   */
  public static final RetentionPolicy DEFAULT = new RetentionPolicy(7.0, 1, 1000, 3, null, 0, 30);

  private static final List<String> MEMBERS =
      List.of(
          "days",
          "snapshots",
          "max_snapshots",
          "orphan_days",
          "history_days",
          "history_months",
          "idempotency_days");
  private static final double SECONDS_A_DAY = 86_400;

  public RetentionPolicy {
    require(days == null || days >= 0, "days", days, "0 or more, or null to keep all snapshots");
    require(snapshots >= 1, "snapshots", snapshots, "at least 1: the newest is what is read");
    require(
        maxSnapshots == null || maxSnapshots >= 1,
        "max_snapshots",
        maxSnapshots,
        "at least 1, or null for no limit");
    require(orphanDays >= 0, "orphan_days", orphanDays, "0 or more");
    require(
        historyDays == null || historyDays >= 0,
        "history_days",
        historyDays,
        "0 or more, or null to keep all archived states");
    require(historyMonths >= 0, "history_months", historyMonths, "0 or more");
    require(idempotencyDays >= 0, "idempotency_days", idempotencyDays, "0 or more");
  }

  private static void require(boolean holds, String name, @Nullable Object value, String limit) {
    if (!holds) {
      throw new KeylakeException(
          DEFINITION,
          "the retention policy has %s %s; it must be %s".formatted(name, value, limit));
    }
  }

  /** The policy of a table: its own, or the default. */
  public static RetentionPolicy of(Table table) {
    return of(table.properties());
  }

  /** The policy in the properties of a table. */
  public static RetentionPolicy of(Map<String, String> properties) {
    String json = properties.get(PROPERTY);
    return json == null ? DEFAULT : fromJson(json);
  }

  public static RetentionPolicy fromJson(String json) {
    JsonNode node = SpecJson.parse("the retention policy", json);
    List<String> unknown = SpecJson.unknown(node, MEMBERS);
    if (!node.isObject() || !unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "a retention policy is a JSON object with the members %s, not %s"
              .formatted(String.join(", ", MEMBERS), json));
    }
    return new RetentionPolicy(
        optional(node, "days", DEFAULT.days),
        (int) number(node, "snapshots", DEFAULT.snapshots),
        maxSnapshots(node),
        number(node, "orphan_days", DEFAULT.orphanDays),
        optional(node, "history_days", DEFAULT.historyDays),
        (int) number(node, "history_months", DEFAULT.historyMonths),
        number(node, "idempotency_days", DEFAULT.idempotencyDays));
  }

  /**
   * A policy that says for how long snapshots are kept, or how many, and not how many at most,
   * keeps them all: so did those from before there was a limit.
   */
  private static @Nullable Integer maxSnapshots(JsonNode node) {
    if (node.hasNonNull("max_snapshots")) {
      return (int) number(node, "max_snapshots", 0);
    }
    boolean saysWhatIsKept = node.has("days") || node.has("snapshots") || node.has("max_snapshots");
    return saysWhatIsKept ? null : DEFAULT.maxSnapshots;
  }

  private static @Nullable Double optional(JsonNode node, String name, @Nullable Double otherwise) {
    if (!node.has(name)) {
      return otherwise;
    }
    return node.hasNonNull(name) ? Double.valueOf(number(node, name, 0)) : null;
  }

  private static double number(JsonNode node, String name, double otherwise) {
    JsonNode value = node.get(name);
    if (value == null) {
      return otherwise;
    }
    require(value.isNumber(), name, value, "a number");
    return value.doubleValue();
  }

  public String toJson() {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("days", days);
    members.put("snapshots", snapshots);
    members.put("max_snapshots", maxSnapshots);
    members.put("orphan_days", orphanDays);
    members.put("history_days", historyDays);
    members.put("history_months", historyMonths);
    members.put("idempotency_days", idempotencyDays);
    return SpecJson.write(members);
  }

  /** The time for which snapshots are kept; null where all are. */
  public @Nullable Duration kept() {
    return days == null ? null : Duration.ofSeconds((long) (days * SECONDS_A_DAY));
  }

  public boolean expires() {
    return days != null;
  }

  public Duration idempotencyKept() {
    return Duration.ofSeconds((long) (idempotencyDays * SECONDS_A_DAY));
  }

  /** The time for which archived states are kept; null where all are. */
  public @Nullable Duration historyKept() {
    return historyDays == null ? null : Duration.ofSeconds((long) (historyDays * SECONDS_A_DAY));
  }

  public Duration orphansKept() {
    return Duration.ofSeconds((long) (orphanDays * SECONDS_A_DAY));
  }
}
