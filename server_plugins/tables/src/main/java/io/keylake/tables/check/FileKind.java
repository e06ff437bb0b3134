package io.keylake.tables.check;

/** The kinds of files that a table needs. */
public enum FileKind {
  METADATA,
  MANIFEST_LIST,
  MANIFEST,
  DATA,
  DELETES,
  STATISTICS
}
