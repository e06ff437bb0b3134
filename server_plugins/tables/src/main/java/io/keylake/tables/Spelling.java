package io.keylake.tables;

import java.util.Arrays;
import java.util.Collection;
import java.util.Locale;
import org.apache.commons.text.similarity.LevenshteinDistance;
import org.jspecify.annotations.Nullable;

/** Words that people type: one that is nearly a word of ours would be passed over in silence. */
public final class Spelling {
  private static final int SHORT_WORD = 3;
  private static final int LONG_WORD = 8;

  private Spelling() {}

  /** The word that was probably meant; null for the words themselves, and for what is near none. */
  public static @Nullable String meant(String given, Collection<String> words) {
    if (words.contains(given)) {
      return null;
    }
    String normal = normal(given);
    return words.stream().filter(word -> isNear(normal, normal(word))).findFirst().orElse(null);
  }

  private static boolean isNear(String given, String word) {
    int most = word.length() < SHORT_WORD ? 0 : word.length() < LONG_WORD ? 1 : 2;
    return new LevenshteinDistance(most).apply(given, word) >= 0 || isExchanged(given, word);
  }

  /** Letters of the word have changed their places. */
  private static boolean isExchanged(String given, String word) {
    return word.length() > SHORT_WORD
        && Arrays.equals(given.chars().sorted().toArray(), word.chars().sorted().toArray());
  }

  private static String normal(String word) {
    return word.toLowerCase(Locale.ROOT).replace('-', '_');
  }
}
