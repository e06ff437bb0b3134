package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.FOREIGN_COMMIT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The state of a copy. Each of its commits says which commit of the keyed table it has reached; the
 * newest is said by a property, too, so that it is known after that commit has expired.
 *
 * @param reached a commit of the keyed table; null where the copy was not filled yet
 */
record CopyState(@Nullable Long reached) {
  /** The property of a commit: the commit of the keyed table that it has reached. */
  static final String REACHED = "keylake.copy.reached";

  /** The newest commit of the copy and what it has reached, as a property of the table. */
  static final String LAST = "keylake.copy.last";

  /**
   * Reads it. Others may rewrite files of the copy, but not change its rows.
   *
   * @throws KeylakeException where somebody else has written
   */
  static CopyState of(Table copy) {
    Long id = copy.currentSnapshot() == null ? null : copy.currentSnapshot().snapshotId();
    while (id != null) {
      Snapshot snapshot = copy.snapshot(id);
      String reached = snapshot == null ? last(copy, id) : snapshot.summary().get(REACHED);
      if (reached != null) {
        return new CopyState(Long.valueOf(reached));
      }
      if (snapshot == null || !DataOperations.REPLACE.equals(snapshot.operation())) {
        throw new KeylakeException(
            FOREIGN_COMMIT,
            "commit %d of the copy %s was not made by publish_iceberg; write all rows again with full => true"
                .formatted(id, copy.name()));
      }
      id = snapshot.parentId();
    }
    return new CopyState(null);
  }

  private static @Nullable String last(Table copy, long snapshotId) {
    String[] said = copy.properties().getOrDefault(LAST, "").split("=");
    return said.length == 2 && said[0].equals(String.valueOf(snapshotId)) ? said[1] : null;
  }

  /** Says by a property what the newest commit says of itself. */
  static void remember(Table copy, long reached) {
    copy.refresh();
    Snapshot head = copy.currentSnapshot();
    if (head != null && String.valueOf(reached).equals(head.summary().get(REACHED))) {
      String last = head.snapshotId() + "=" + reached;
      if (!last.equals(copy.properties().get(LAST))) {
        CertainOperations.of(copy)
            .updateProperties()
            .set(LAST, last)
            .remove(CopyColumns.REWRITE)
            .commit();
      }
    }
  }
}
