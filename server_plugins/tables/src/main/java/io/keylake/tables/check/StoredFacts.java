package io.keylake.tables.check;

import io.keylake.tables.check.Finding.Kind;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.compaction.CompactionPolicy;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.TableLog;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;

/** The facts that properties and summaries say, and that later commits carry on. */
final class StoredFacts {
  private StoredFacts() {}

  private interface Reading {
    void run();
  }

  /** The properties that cannot be read, a finding for each. */
  static List<Finding> findings(Table table) {
    List<Finding> findings = new ArrayList<>();
    check(table, "keylake.spec", () -> KeyedSchema.of(table), findings);
    check(table, "keylake.offsets", () -> SourceOffsets.next(table, null), findings);
    check(table, "keylake.compaction", () -> CompactionPolicy.of(table), findings);
    check(table, "keylake.retention", () -> RetentionPolicy.of(table), findings);
    check(table, Lateness.PROPERTY, () -> Lateness.of(table), findings);
    check(table, TableLog.PROPERTY, () -> TableLog.of(table), findings);
    for (Snapshot snapshot : table.snapshots()) {
      Map<String, String> summary = snapshot.summary();
      check(
          table,
          "keylake.watermarks of snapshot " + snapshot.snapshotId(),
          () -> Watermarks.parse(summary.get("keylake.watermarks")),
          findings);
    }
    return findings;
  }

  private static void check(Table table, String fact, Reading reading, List<Finding> findings) {
    try {
      reading.run();
    } catch (RuntimeException e) {
      findings.add(
          Finding.of(
              Kind.UNREADABLE,
              TableUtil.metadataFileLocation(table),
              "%s cannot be read: %s".formatted(fact, e.getMessage())));
    }
  }
}
