package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Map;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Commits from before a table was replaced by one of another definition. Its columns got new ids
 * then, also the hidden one of versions, by which they are known.
 */
public final class OlderDefinition {
  private OlderDefinition() {}

  /** The same for a table as it is known. */
  public static void check(Table table, @Nullable Snapshot commit) {
    check(table.name(), table.schema(), table.schemas(), commit);
  }

  /**
   * Refuses a commit that is not of the definition that a table has.
   *
   * @param current the columns of the table
   * @param schemas of all commits, by their ids
   * @param commit null for none
   */
  public static void check(
      String table, Schema current, Map<Integer, Schema> schemas, @Nullable Snapshot commit) {
    Schema then = commit == null ? null : schema(schemas, commit);
    if (commit != null && then != null && !isSame(current, then)) {
      throw refusal(table, commit);
    }
  }

  /**
   * Refuses a write that was planned before the table was replaced.
   *
   * @param planned the columns that it knows
   */
  public static void checkWrite(Table table, Schema planned) {
    if (!isSame(table.schema(), planned)) {
      throw replaced(table.name());
    }
  }

  /** The error for a write to a table that was replaced meanwhile. */
  public static KeylakeException replaced(String table) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "table %s was replaced by one of another definition after the write to it began; nothing was written; write again"
            .formatted(table));
  }

  /** The error for a commit that is read by itself only, or not at all. */
  public static KeylakeException refusal(String table, Snapshot commit) {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d of %s is from before the table was replaced by one of another definition; it can only be read by itself (VERSION AS OF); take a later commit"
            .formatted(commit.snapshotId(), table));
  }

  /** The columns of a commit from before the table was replaced; null for one since. */
  public static @Nullable Schema columns(Table table, Snapshot commit) {
    Schema then = schema(table.schemas(), commit);
    return then == null || isSame(table.schema(), then) ? null : then;
  }

  private static @Nullable Schema schema(Map<Integer, Schema> schemas, Snapshot commit) {
    return commit.schemaId() == null ? null : schemas.get(commit.schemaId());
  }

  private static boolean isSame(Schema one, Schema other) {
    NestedField versions = one.asStruct().field(KeyedSchema.MERGE_INFO);
    NestedField versionsThen = other.asStruct().field(KeyedSchema.MERGE_INFO);
    return versions == null || versionsThen == null
        ? versions == versionsThen // a table that is not keyed, and was not
        : versions.fieldId() == versionsThen.fieldId();
  }
}
