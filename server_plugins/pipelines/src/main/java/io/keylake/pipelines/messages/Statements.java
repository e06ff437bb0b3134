package io.keylake.pipelines.messages;

import io.keylake.pipelines.encodings.BadMessage;
import java.util.regex.Pattern;

/**
 * Statements that changed a table, which messages quote. New columns and types are found from the
 * rows that have them, so such statements say nothing more; those after which rows are gone, or
 * have another table, are told.
 */
final class Statements {
  private static final Pattern TOLD =
      Pattern.compile(
          "^\\s*(truncate|drop\\s+(table|database|schema)|rename\\s+table"
              + "|alter\\s+table\\s+\\S+\\s+rename\\s+(to|as)\\b)",
          Pattern.CASE_INSENSITIVE);

  private Statements() {}

  static void check(String statement) throws BadMessage {
    if (TOLD.matcher(statement).find()) {
      throw new BadMessage(
          "the source ran the statement '%s', which is not followed: rows of the table are still there; change it by hand"
              .formatted(statement.strip()));
    }
  }
}
