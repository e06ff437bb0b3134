package io.keylake.spark.read.scan;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.apache.spark.sql.execution.datasources.v2.DataSourceV2Relation;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/** Every option of a relation that a read of a keyed table knows, those that our rules set, too. */
public final class RelationOptions {
  /** A snapshot id: the range of commits that is read begins after it. */
  public static final String AFTER = "after";

  /** A snapshot id: the range of commits that is read ends with it. */
  public static final String UNTIL = "until";

  /** The rows that are read: {@value #ON_TIME} leaves late ones out. */
  public static final String FRESHNESS = "freshness";

  private static final String ON_TIME = "on_time";

  /** Set by a rule: the number of buckets that the scan reports. */
  public static final String BUCKETS = "keylake.buckets";

  /** Set by a rule: one of {@link ScanTasks}, where the query does not need the buckets. */
  public static final String TASKS = "keylake.tasks";

  private static final Set<String> OPTIONS_OF_OTHER_READS =
      Set.of(
          "snapshot-id",
          "as-of-timestamp",
          "branch",
          "tag",
          "start-snapshot-id",
          "end-snapshot-id",
          "scan-task-set-id");

  private RelationOptions() {}

  /** Refuses the options of other tables that choose a snapshot. */
  public static void checkRead(CaseInsensitiveStringMap options, String table) {
    for (String option : OPTIONS_OF_OTHER_READS) {
      if (options.containsKey(option)) {
        throw new KeylakeException(
            UNSUPPORTED,
            "the read option '%s' is not supported on keyed table %s; write SELECT ... VERSION AS OF, or TIMESTAMP AS OF"
                .formatted(option, table));
      }
    }
  }

  /** Late rows are left out. */
  public static boolean isOnTime(CaseInsensitiveStringMap options) {
    String freshness = options.get(FRESHNESS);
    if (freshness != null && !freshness.equalsIgnoreCase(ON_TIME)) {
      throw new KeylakeException(
          DEFINITION,
          "the read option 'freshness' is '%s'; it is 'on_time', which leaves late rows out, or is not given"
              .formatted(freshness));
    }
    return freshness != null;
  }

  /** A mention of a table in a plan with an option more, of which its scan is told. */
  public static DataSourceV2Relation with(
      DataSourceV2Relation relation, String option, String value) {
    Map<String, String> options = new HashMap<>(relation.options().asCaseSensitiveMap());
    options.put(option, value);
    return relation.copy(
        relation.table(),
        relation.output(),
        relation.catalog(),
        relation.identifier(),
        new CaseInsensitiveStringMap(options),
        relation.timeTravelSpec());
  }

  static ScanTasks tasks(CaseInsensitiveStringMap options) {
    return ScanTasks.valueOf(options.getOrDefault(TASKS, ScanTasks.BUCKETS.name()));
  }

  /** The number of buckets that the scan reports; null for those that the table has. */
  public static @Nullable Integer buckets(CaseInsensitiveStringMap options) {
    String buckets = options.get(BUCKETS);
    return buckets == null ? null : Integer.valueOf(buckets);
  }
}
