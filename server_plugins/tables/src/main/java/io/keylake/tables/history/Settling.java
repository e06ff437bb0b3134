package io.keylake.tables.history;

/** Whether the superseded rows of a run are recorded. */
public enum Settling {
  NOT_YET,
  DONE,
  /** They are, but some key still has several rows, which only a merge makes one. */
  IN_VAIN
}
