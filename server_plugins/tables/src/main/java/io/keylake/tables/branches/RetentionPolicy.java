package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.time.Instant;
import java.time.YearMonth;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode;

/**
 * What of a table's past is kept. It lies in the table property {@value #PROPERTY} as JSON. Tags
 * and branches keep what they stand on, whatever is said here.
 *
 * @param days snapshots younger than that are kept; null for all
 * @param snapshots so many are kept on each branch, however old they are
 * @param orphanDays files that no snapshot knows are deleted when they are older than that: younger
 *     ones may belong to a write that is not committed yet
 * @param historyDays archived states of a younger business time are kept; null for all
 * @param historyMonths of the older ones, the last of each month is kept for so many months
 */
public record RetentionPolicy(
    Double days, int snapshots, double orphanDays, Double historyDays, int historyMonths) {
  public static final String PROPERTY = "keylake.retention";

  /** Everything is kept, but files of writes that never came to a commit. */
  public static final RetentionPolicy DEFAULT = new RetentionPolicy(null, 1, 3, null, 0);

  private static final List<String> MEMBERS =
      List.of("days", "snapshots", "orphan_days", "history_days", "history_months");
  private static final List<String> NULLABLE = List.of("days", "history_days");
  private static final double SECONDS_A_DAY = 86_400;

  public RetentionPolicy {
    require(days == null || days >= 0, "days", days, "0 or more, or null to keep all snapshots");
    require(snapshots >= 1, "snapshots", snapshots, "at least 1: the newest is what is read");
    require(orphanDays >= 0, "orphan_days", orphanDays, "0 or more");
    require(
        historyDays == null || historyDays >= 0,
        "history_days",
        historyDays,
        "0 or more, or null to keep all archived states");
    require(historyMonths >= 0, "history_months", historyMonths, "0 or more");
  }

  private static void require(boolean holds, String name, Object value, String limit) {
    if (!holds) {
      throw new KeylakeException(
          DEFINITION,
          "the retention policy has %s %s; it must be %s".formatted(name, value, limit));
    }
  }

  /** The policy of a table: its own, or the default. */
  public static RetentionPolicy of(Table table) {
    String json = table.properties().get(PROPERTY);
    return json == null ? DEFAULT : fromJson(json);
  }

  public static RetentionPolicy fromJson(String json) {
    JsonNode node = SpecJson.parse("the retention policy", json);
    List<String> unknown = new ArrayList<>();
    node.fieldNames().forEachRemaining(unknown::add);
    unknown.removeAll(MEMBERS);
    if (!node.isObject() || !unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "a retention policy is a JSON object with the members %s, not %s"
              .formatted(String.join(", ", MEMBERS), json));
    }
    return new RetentionPolicy(
        number(node, "days", DEFAULT.days),
        number(node, "snapshots", (double) DEFAULT.snapshots).intValue(),
        number(node, "orphan_days", DEFAULT.orphanDays),
        number(node, "history_days", DEFAULT.historyDays),
        number(node, "history_months", (double) DEFAULT.historyMonths).intValue());
  }

  private static Double number(JsonNode node, String name, Double otherwise) {
    JsonNode value = node.get(name);
    if (value == null || (value.isNull() && NULLABLE.contains(name))) {
      return otherwise;
    }
    require(value.isNumber(), name, value, "a number");
    return value.doubleValue();
  }

  public String toJson() {
    Map<String, Object> members = new LinkedHashMap<>();
    members.put("days", days);
    members.put("snapshots", snapshots);
    members.put("orphan_days", orphanDays);
    members.put("history_days", historyDays);
    members.put("history_months", historyMonths);
    return SpecJson.write(members);
  }

  /** Null where all snapshots are kept. */
  public Duration kept() {
    return days == null ? null : Duration.ofSeconds((long) (days * SECONDS_A_DAY));
  }

  /** The archived states that need not be kept; the newest always is. */
  List<HistoryBranches.State> expired(List<HistoryBranches.State> oldestFirst, Instant now) {
    if (historyDays == null) {
      return List.of();
    }
    Instant young = now.minusSeconds((long) (historyDays * SECONDS_A_DAY));
    YearMonth firstMonth = YearMonth.from(now.atOffset(ZoneOffset.UTC)).minusMonths(historyMonths);
    List<HistoryBranches.State> expired = new ArrayList<>();
    for (int i = 0; i < oldestFirst.size() - 1; i++) {
      YearMonth month = month(oldestFirst.get(i));
      boolean isLastOfMonth = !month.equals(month(oldestFirst.get(i + 1)));
      boolean isKeptMonth = historyMonths > 0 && isLastOfMonth && !month.isBefore(firstMonth);
      if (oldestFirst.get(i).time().isBefore(young) && !isKeptMonth) {
        expired.add(oldestFirst.get(i));
      }
    }
    return expired;
  }

  private static YearMonth month(HistoryBranches.State state) {
    return YearMonth.from(state.time().atOffset(ZoneOffset.UTC));
  }

  public Duration orphansKept() {
    return Duration.ofSeconds((long) (orphanDays * SECONDS_A_DAY));
  }
}
