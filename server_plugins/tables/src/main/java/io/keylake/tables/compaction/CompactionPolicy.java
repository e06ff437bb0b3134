package io.keylake.tables.compaction;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The policy that says when the runs of a bucket are merged. It lies in the table property {@value
 * #PROPERTY} as JSON; a member that is not there has its default.
 *
 * <p>Runs are put into tiers by their size: tier 0 is below {@code smallBytes}, and each further
 * one reaches {@code tierRatio} times as far. So a run is merged with its peers, and a large one is
 * hardly ever written again.
 *
 * @param maxFiles a bucket with more files below half the target size is merged, come what may
 * @param tierRuns so many neighbouring runs of one tier make it full
 * @param tierRatio how much larger the runs of a tier may be than those of the tier below
 * @param smallBytes where tier 0 ends
 * @param supersededShare a group of runs is merged when so much of its rows would go, whatever the
 *     sizes
 * @param leastFreedShare a full tier is left alone when a merge would free less of its rows
 * @param settleShare runs of whole rows that overlap are settled, which is cheaper than to merge
 *     them, when so much of their rows is not settled yet; null for never
 * @param maxBytes no merge, but one for {@code maxFiles}, reads more
 * @param targetFileBytes of the files that a merge writes
 * @param tombstoneSeconds how long tombstones are kept at least; null for ever
 * @param recentSeconds how long maintenance leaves the newest small runs as they were written,
 *     unless there are too many: each of their values then still says where it comes from
 * @param lateShare late files become a run like others when they have such a share of the bytes of
 *     their bucket's others
 * @param lateSeconds and when one of them is so old
 */
public record CompactionPolicy(
    int maxFiles,
    int tierRuns,
    int tierRatio,
    long smallBytes,
    double supersededShare,
    double leastFreedShare,
    @Nullable Double settleShare,
    long maxBytes,
    long targetFileBytes,
    @Nullable Long tombstoneSeconds,
    long recentSeconds,
    double lateShare,
    long lateSeconds) {
  public static final String PROPERTY = "keylake.compaction";

  private static final double SETTLE_SHARE = 0.05;
  private static final double LATE_SHARE = 0.25;
  private static final long LATE_SECONDS = 86_400;

  /** Some hundred years, which are as good as for ever, and which a clock can be moved by. */
  private static final long LONGEST_SECONDS = 10_000_000_000L;

  public static final CompactionPolicy DEFAULT =
      new CompactionPolicy(
          32, 4, 4, 1L << 20, 0.5, 0.02, SETTLE_SHARE, 64L << 30, 512L << 20, null, 600);

  /** Merges whatever is not merged yet. */
  public static final CompactionPolicy FULL =
      new CompactionPolicy(
          2,
          2,
          2,
          Long.MAX_VALUE,
          0.0,
          0.0,
          null,
          Long.MAX_VALUE,
          DEFAULT.targetFileBytes,
          null,
          0);

  /** Leaves each key once, and nothing of what was deleted. */
  public static final CompactionPolicy MERGED =
      new CompactionPolicy(
          2, 2, 2, Long.MAX_VALUE, 0.0, 0.0, null, Long.MAX_VALUE, DEFAULT.targetFileBytes, 0L, 0);

  /** Merges nothing, and settles whatever is not settled yet. */
  public static final CompactionPolicy SETTLE =
      new CompactionPolicy(
          Integer.MAX_VALUE,
          Integer.MAX_VALUE,
          2,
          DEFAULT.smallBytes,
          1.0,
          1.0,
          0.0,
          Long.MAX_VALUE,
          DEFAULT.targetFileBytes,
          null,
          0);

  /** Merges nothing but what was written when the table had fewer buckets. */
  public CompactionPolicy onlyRebucketing() {
    return new CompactionPolicy(
        Integer.MAX_VALUE,
        Integer.MAX_VALUE,
        2,
        smallBytes,
        1.0,
        1.0,
        null,
        maxBytes,
        targetFileBytes,
        null,
        0);
  }

  /** The policy merges whatever there is, however large. */
  boolean isFull() {
    return smallBytes == FULL.smallBytes;
  }

  /** The same for a caller that does not wait for runs to become old. */
  public CompactionPolicy ofAllAges() {
    return with(settleShare, tombstoneSeconds, 0);
  }

  /** The same for files that are read together with those of another branch. */
  CompactionPolicy settlingNothing() {
    return with(null, tombstoneSeconds, recentSeconds);
  }

  /** The same, but tombstones stay. */
  CompactionPolicy keepingTombstones() {
    return with(settleShare, null, recentSeconds);
  }

  /** A policy with the default limits of late rows. */
  public CompactionPolicy(
      int maxFiles,
      int tierRuns,
      int tierRatio,
      long smallBytes,
      double supersededShare,
      double leastFreedShare,
      @Nullable Double settleShare,
      long maxBytes,
      long targetFileBytes,
      @Nullable Long tombstoneSeconds,
      long recentSeconds) {
    this(
        maxFiles,
        tierRuns,
        tierRatio,
        smallBytes,
        supersededShare,
        leastFreedShare,
        settleShare,
        maxBytes,
        targetFileBytes,
        tombstoneSeconds,
        recentSeconds,
        LATE_SHARE,
        LATE_SECONDS);
  }

  private CompactionPolicy with(@Nullable Double share, @Nullable Long seconds, long recent) {
    return new CompactionPolicy(
        maxFiles,
        tierRuns,
        tierRatio,
        smallBytes,
        supersededShare,
        leastFreedShare,
        share,
        maxBytes,
        targetFileBytes,
        seconds,
        recent,
        lateShare,
        lateSeconds);
  }

  private static final List<String> MEMBERS =
      List.of(
          "max_files",
          "tier_runs",
          "tier_ratio",
          "small_bytes",
          "superseded_share",
          "least_freed_share",
          "settle_share",
          "max_bytes",
          "target_file_bytes",
          "tombstone_seconds",
          "recent_seconds",
          "late_share",
          "late_seconds");

  public CompactionPolicy {
    require(tierRuns >= 2, "tier_runs", tierRuns, "at least 2: one run needs no merge");
    require(tierRatio >= 2, "tier_ratio", tierRatio, "at least 2: tiers must grow");
    require(smallBytes > 0, "small_bytes", smallBytes, "above 0");
    require(
        maxFiles >= tierRuns,
        "max_files",
        maxFiles,
        "at least tier_runs, which is %d: a bucket would be over its limit before a tier is full"
            .formatted(tierRuns));
    require(isShare(supersededShare), "superseded_share", supersededShare, "between 0 and 1");
    require(
        isShare(leastFreedShare) && leastFreedShare <= supersededShare,
        "least_freed_share",
        leastFreedShare,
        "between 0 and superseded_share, which is %s: what is worth a merge by itself must be worth one in a tier"
            .formatted(supersededShare));
    require(
        settleShare == null || isShare(settleShare),
        "settle_share",
        settleShare,
        "between 0 and 1, or null to settle nothing");
    require(targetFileBytes > 0, "target_file_bytes", targetFileBytes, "above 0");
    require(
        maxBytes >= targetFileBytes,
        "max_bytes",
        maxBytes,
        "at least target_file_bytes, which is %d: no merge could fill a file"
            .formatted(targetFileBytes));
    require(
        tombstoneSeconds == null || tombstoneSeconds >= 0,
        "tombstone_seconds",
        tombstoneSeconds,
        "0 or more, or null to keep tombstones for ever");
    require(recentSeconds >= 0, "recent_seconds", recentSeconds, "0 or more");
    require(lateShare >= 0, "late_share", lateShare, "0 or more");
    require(lateSeconds >= 0, "late_seconds", lateSeconds, "0 or more");
  }

  private static void require(boolean holds, String name, @Nullable Object value, String limit) {
    if (!holds) {
      throw new KeylakeException(
          DEFINITION,
          "the compaction policy has %s %s; it must be %s".formatted(name, value, limit));
    }
  }

  private static boolean isShare(double value) {
    return value >= 0 && value <= 1;
  }

  /** The policy of a table: its own, or the default. */
  public static CompactionPolicy of(Table table) {
    String json = table.properties().get(PROPERTY);
    return json == null ? DEFAULT : fromJson(json);
  }

  public static CompactionPolicy fromJson(String json) {
    JsonNode node = SpecJson.parse("the compaction policy", json);
    if (!node.isObject()) {
      throw new KeylakeException(
          DEFINITION, "a compaction policy is a JSON object, not %s".formatted(json));
    }
    List<String> unknown = SpecJson.unknown(node, MEMBERS);
    if (!unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "a compaction policy has no %s; its members are %s"
              .formatted(unknown, String.join(", ", MEMBERS)));
    }
    Members members = new Members(node);
    return new CompactionPolicy(
        (int) members.whole("max_files", DEFAULT.maxFiles),
        (int) members.whole("tier_runs", DEFAULT.tierRuns),
        (int) members.whole("tier_ratio", DEFAULT.tierRatio),
        members.whole("small_bytes", DEFAULT.smallBytes),
        members.share("superseded_share", DEFAULT.supersededShare),
        members.share("least_freed_share", DEFAULT.leastFreedShare),
        node.has("settle_share") && node.get("settle_share").isNull()
            ? null
            : Double.valueOf(members.share("settle_share", SETTLE_SHARE)),
        members.whole("max_bytes", DEFAULT.maxBytes),
        members.whole("target_file_bytes", DEFAULT.targetFileBytes),
        node.hasNonNull("tombstone_seconds") ? members.whole("tombstone_seconds", 0L) : null,
        members.whole("recent_seconds", DEFAULT.recentSeconds),
        members.share("late_share", LATE_SHARE),
        members.whole("late_seconds", LATE_SECONDS));
  }

  private record Members(JsonNode node) {
    long whole(String name, long otherwise) {
      JsonNode value = node.get(name);
      if (value == null) {
        return otherwise;
      }
      boolean isSmall = name.startsWith("tier") || name.equals("max_files");
      if (!value.isIntegralNumber()
          || !value.canConvertToLong()
          || (isSmall && !value.canConvertToInt())) {
        throw wrong(name, value, "a whole number");
      }
      return value.longValue();
    }

    double share(String name, double otherwise) {
      JsonNode value = node.get(name);
      if (value != null && !value.isNumber()) {
        throw wrong(name, value, "a number between 0 and 1");
      }
      return value == null ? otherwise : value.doubleValue();
    }

    private static KeylakeException wrong(String name, JsonNode value, String wanted) {
      return new KeylakeException(
          DEFINITION,
          "the compaction policy has %s %s; it must be %s".formatted(name, value, wanted));
    }
  }

  public String toJson() {
    Map<String, Object> members = new LinkedHashMap<>();
    List<Object> values = new ArrayList<>();
    values.addAll(List.of(maxFiles, tierRuns, tierRatio, smallBytes));
    values.addAll(List.of(supersededShare, leastFreedShare));
    values.add(settleShare);
    values.addAll(List.of(maxBytes, targetFileBytes));
    values.add(tombstoneSeconds);
    values.addAll(List.of(recentSeconds, lateShare, lateSeconds));
    for (int i = 0; i < MEMBERS.size(); i++) {
      members.put(MEMBERS.get(i), values.get(i));
    }
    return SpecJson.write(members);
  }

  int tier(long bytes) {
    int tier = 0;
    for (long end = smallBytes; bytes >= end && end > 0; end = times(end)) {
      tier++;
    }
    return tier;
  }

  private long times(long end) {
    return end > Long.MAX_VALUE / tierRatio ? -1 : end * tierRatio;
  }

  /** Data is never to be written again, whatever it looks like. */
  boolean mergesNothing() {
    return equals(SETTLE);
  }

  /** Partial rows and small runs are settled, too. */
  boolean settlesAll() {
    return settleShare != null && settleShare == 0;
  }

  /** Files are not merged for their number, size or age. */
  boolean leavesFiles() {
    return maxFiles == Integer.MAX_VALUE;
  }

  boolean isSmallFile(long bytes) {
    return bytes < targetFileBytes / 2;
  }

  /** The time for which the newest small runs stay as they were written. */
  public Duration recent() {
    return Duration.ofSeconds(Math.min(recentSeconds, LONGEST_SECONDS));
  }

  /** The time after which late rows become a run like others. */
  Duration latest() {
    return Duration.ofSeconds(Math.min(lateSeconds, LONGEST_SECONDS));
  }

  @Nullable Duration tombstoneRetention() {
    return tombstoneSeconds == null
        ? null
        : Duration.ofSeconds(Math.min(tombstoneSeconds, LONGEST_SECONDS));
  }
}
