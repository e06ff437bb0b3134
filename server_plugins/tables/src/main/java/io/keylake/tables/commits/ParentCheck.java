package io.keylake.tables.commits;

/** What every commit of ours requires of the commits before it, whatever it does. */
@FunctionalInterface
interface ParentCheck {
  /** Throws a {@code KeylakeException} where nothing may be committed upon a parent. */
  void check(Parent parent);
}
