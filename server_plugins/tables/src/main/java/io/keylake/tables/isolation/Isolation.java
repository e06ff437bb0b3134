package io.keylake.tables.isolation;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Instant;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.IsolationLevel;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.expressions.Expression;
import org.jspecify.annotations.Nullable;

/**
 * The commits that a statement does not bear, of those that came after the snapshot that it has
 * read.
 *
 * <ol>
 *   <li>Compactions, settlements and publications change no row, so they never conflict. Those of a
 *       published branch are commits like others.
 *   <li>Serializable: a commit conflicts if a file that it added or removed may hold a key that the
 *       statement has looked at. Filters on the key narrow what it has looked at.
 *   <li>Snapshot: a commit conflicts if it may have written what the statement writes, that is the
 *       same columns of the same keys; a deletion, on either side, is of all columns.
 * </ol>
 *
 * <p>All of it is decided by the statistics of files, which may see a conflict where there is none.
 * A write that has read nothing has no isolation and never conflicts.
 *
 * @param schema of the table when the statement was planned
 * @param property that states the level
 * @param snapshotId that the statement has read; null where the branch had no commit
 * @param main what the statement has read of main beside its own branch, as experiments do; null
 *     where it has read its own branch only
 * @param lookedAt selects the rows that the statement has looked at, given all numbers of buckets
 *     that the table has had
 */
public record Isolation(
    KeyedSchema schema,
    String property,
    IsolationLevel level,
    @Nullable Long snapshotId,
    @Nullable MainRead main,
    Function<Set<Integer>, Expression> lookedAt) {
  private static final Set<String> PROPERTIES =
      Set.of(
          TableProperties.UPDATE_ISOLATION_LEVEL,
          TableProperties.DELETE_ISOLATION_LEVEL,
          TableProperties.MERGE_ISOLATION_LEVEL);

  /**
   * The snapshot of main that an experiment shows.
   *
   * @param snapshotId null where main had no commit
   */
  public record MainRead(@Nullable Long snapshotId) {}

  /** The level that a table states for a kind of statement, in the words of Iceberg. */
  public static IsolationLevel level(Map<String, String> properties, String property) {
    String word = properties.getOrDefault(property, IsolationLevel.SERIALIZABLE.name());
    for (IsolationLevel level : IsolationLevel.values()) {
      if (level.name().equalsIgnoreCase(word)) {
        return level;
      }
    }
    throw new KeylakeException(
        DEFINITION,
        "property '%s' is '%s'; it must be serializable or snapshot".formatted(property, word));
  }

  /** Refuses a level that there is not. */
  public static void check(String property, String value) {
    if (PROPERTIES.contains(property)) {
      level(Map.of(property, value), property);
    }
  }

  /**
   * Refuses a commit of the statement upon a parent.
   *
   * @param ofMain where main stands
   */
  void check(Table table, Parent parent, Parent ofMain, List<DataFile> written) {
    check(table, parent, snapshotId, written);
    if (main != null) {
      check(table, ofMain, main.snapshotId(), written);
    }
  }

  private void check(Table table, Parent parent, @Nullable Long readAt, List<DataFile> written) {
    Touched touched =
        level == IsolationLevel.SERIALIZABLE
            ? Touched.selected(table, schema, lookedAt)
            : Touched.written(table, schema, written);
    for (Snapshot commit : parent.commits()) {
      if (Long.valueOf(commit.snapshotId()).equals(readAt)) {
        return;
      }
      if (!WriteSummary.isTidying(commit) && isTouching(table, commit, touched)) {
        throw conflict(table, parent, commit, readAt);
      }
    }
    if (readAt != null) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "commit %d, which the statement has read, is no longer part of branch '%s' of %s; nothing was written, run the statement again"
              .formatted(readAt, parent.branch(), table.name()));
    }
  }

  private static boolean isTouching(Table table, Snapshot commit, Touched touched) {
    SnapshotChanges changes = SnapshotChanges.builderFor(table).snapshot(commit).build();
    for (DataFile file : changes.addedDataFiles()) {
      if (touched.isByAdding(file)) {
        return true;
      }
    }
    for (DataFile file : changes.removedDataFiles()) {
      if (touched.isByRemoving(file)) {
        return true;
      }
    }
    return false;
  }

  private KeylakeException conflict(
      Table table, Parent parent, Snapshot commit, @Nullable Long readAt) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "commit %d (%s of %s) to branch '%s' of %s may have changed rows that the statement has %s since it read commit %s; nothing was written, run the statement again (%s is %s)"
            .formatted(
                commit.snapshotId(),
                commit.summary().getOrDefault(WriteSummary.VERB, commit.operation()),
                Instant.ofEpochMilli(commit.timestampMillis()),
                parent.branch(),
                table.name(),
                level == IsolationLevel.SERIALIZABLE ? "looked at" : "changed, too,",
                readAt == null ? "none" : readAt.toString(),
                property,
                level.name().toLowerCase(Locale.ROOT)));
  }
}
