package io.keylake.tables.outcomes;

/**
 * Ends a commit whose earlier attempt the catalog has taken. Iceberg must not delete what it has
 * written: it knows the files of the newest attempt only.
 */
public final class CommitStands extends RuntimeException {
  private static final long serialVersionUID = 1L;

  public CommitStands(String table) {
    super("an earlier attempt of this commit is part of " + table);
  }
}
