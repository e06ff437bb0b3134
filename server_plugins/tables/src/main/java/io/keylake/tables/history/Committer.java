package io.keylake.tables.history;

import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** The principal for whom a thread makes a commit, where the process knows principals. */
public final class Committer {
  private static volatile Supplier<@Nullable String> known = () -> null;

  private Committer() {}

  /** Says once, when the process starts, who tells of principals. */
  public static void knownBy(Supplier<@Nullable String> principals) {
    known = principals;
  }

  public static @Nullable String ofThread() {
    return known.get();
  }
}
