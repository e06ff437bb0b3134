package io.keylake.spark.read.scan;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitRange;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * The commits that a read speaks of, from its options: those after one, up to another.
 *
 * @param after a snapshot id, or 0 for the time before the first commit
 * @param until a snapshot id; null for a table without any
 */
public record ReadRange(long after, @Nullable Long until) {
  /**
   * @param head where the range ends unless that is said
   * @return null where the options say nothing of a range
   */
  public static @Nullable ReadRange of(CaseInsensitiveStringMap options, @Nullable Long head) {
    if (!options.containsKey(RelationOptions.AFTER)) {
      if (options.containsKey(RelationOptions.UNTIL)) {
        throw new KeylakeException(
            DEFINITION,
            "the read option 'until' needs 'after': the snapshot id of a commit, or 0 for the time before the first");
      }
      return null;
    }
    Long until =
        options.containsKey(RelationOptions.UNTIL)
            ? snapshot(options, RelationOptions.UNTIL)
            : head;
    boolean isEmpty = until != null && until == CommitRange.BEGINNING;
    return new ReadRange(snapshot(options, RelationOptions.AFTER), isEmpty ? null : until);
  }

  private static Long snapshot(CaseInsensitiveStringMap options, String name) {
    String said = options.getOrDefault(name, "");
    try {
      return Long.valueOf(said.strip());
    } catch (NumberFormatException e) {
      throw new KeylakeException(
          DEFINITION,
          "the read option '%s' is '%s'; it must be the snapshot id of a commit"
              .formatted(name, said));
    }
  }
}
