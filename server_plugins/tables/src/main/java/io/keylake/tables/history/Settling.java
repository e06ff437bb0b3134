package io.keylake.tables.history;

/** Says whether the superseded rows of a run are recorded. */
public enum Settling {
  NOT_YET,
  DONE,
  /**
   * The superseded rows are recorded, but some key still has several rows, which only a merge makes
   * one.
   */
  IN_VAIN
}
