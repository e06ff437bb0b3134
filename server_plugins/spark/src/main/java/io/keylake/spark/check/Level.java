package io.keylake.spark.check;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** The depth of a check. */
public enum Level {
  /** Metadata, sizes and footers. */
  FILES,
  /** All pages, too. */
  PAGES;

  /** The level of a word; {@link #FILES} where none is given. */
  public static Level of(@Nullable String word) {
    if (word == null || word.equalsIgnoreCase(FILES.word())) {
      return FILES;
    }
    if (word.equalsIgnoreCase(PAGES.word())) {
      return PAGES;
    }
    throw new KeylakeException(
        DEFINITION, "there is no level '%s' of a check; use 'files' or 'pages'".formatted(word));
  }

  private String word() {
    return name().toLowerCase(Locale.ROOT);
  }
}
