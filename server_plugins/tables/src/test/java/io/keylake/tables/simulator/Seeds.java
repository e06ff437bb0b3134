package io.keylake.tables.simulator;

import org.jspecify.annotations.Nullable;

/** The runs of the first seeds, as the test of mutants calls them in a class loader of theirs. */
public final class Seeds {
  private Seeds() {}

  /** Runs seeds until one breaks a law, and says which and how; null if none of so many does. */
  public static @Nullable String firstBroken(int most) {
    for (int seed = 0; seed < most; seed++) {
      Throwable broken = Shrinking.broken(Script.of(seed));
      if (broken != null) {
        return "%d\t%s"
            .formatted(
                seed + 1, String.valueOf(broken.getMessage()).lines().findFirst().orElse(""));
      }
    }
    return null;
  }
}
