package io.keylake.tables.simulator;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What an operation is allowed to do to a table. Names of branches that end with {@code *} are
 * prefixes.
 *
 * @param write that it makes; null for none
 * @param held the rows that the write holds back, as a write of their own; null for none
 * @param moves branches that may come, go, or come to stand elsewhere than behind where they stood
 * @param loses whether such a branch may have fewer writes than before
 * @param copies branches to which it may bring writes of others
 */
record Intent(
    @Nullable Write write,
    @Nullable Write held,
    Set<String> moves,
    boolean loses,
    Set<String> copies) {
  /** Of operations that change no answer. */
  static final Intent NOTHING = new Intent(null, null, Set.of(), false, Set.of());

  static Intent of(Write write) {
    return new Intent(write, null, Set.of(), false, Set.of());
  }

  /** Branches come and go. */
  static Intent moving(String... branches) {
    return new Intent(null, null, Set.of(branches), true, Set.of());
  }

  static boolean holds(Set<String> names, String branch) {
    return names.stream()
        .anyMatch(
            each ->
                each.endsWith("*")
                    ? branch.startsWith(each.substring(0, each.length() - 1))
                    : each.equals(branch));
  }
}
