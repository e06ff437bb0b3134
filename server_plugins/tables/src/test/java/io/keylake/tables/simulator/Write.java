package io.keylake.tables.simulator;

import io.keylake.merge.WrittenRow;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** What one commit does to the content of branches, as the model has it. */
final class Write {
  enum Kind {
    UPDATE,
    OVERWRITE,
    UNDO
  }

  final String name;
  final Kind kind;
  final List<WrittenRow> rows;

  /** The data files in which the rows lie. */
  final Set<String> files;

  final @Nullable String key;

  /** From where to where it brings a source; null for none. */
  final long @Nullable [] offsets;

  /** The snapshots that it takes back. */
  final Set<Long> undone;

  /** The snapshots that have made it, on whatever branch. */
  final Set<Long> snapshots = new HashSet<>();

  /** The branches that it may come to without being copied; {@code *} ends a prefix. */
  final Set<String> branches;

  /** The first archived state that it has to come to; null where it is not late. */
  final @Nullable String since;

  Write(
      String name,
      Kind kind,
      List<WrittenRow> rows,
      Set<String> files,
      @Nullable String key,
      long @Nullable [] offsets,
      Set<Long> undone,
      Set<String> branches,
      @Nullable String since) {
    this.name = name;
    this.kind = kind;
    this.rows = rows;
    this.files = files;
    this.key = key;
    this.offsets = offsets;
    this.undone = undone;
    this.branches = branches;
    this.since = since;
  }

  @Override
  public String toString() {
    return name;
  }
}
