package io.keylake.pipelines.messages;

import io.keylake.pipelines.encodings.BadMessage;
import java.util.regex.Pattern;

/**
 * Statements that changed a table, which messages quote. New columns and types are found from the
 * rows that have them, so such statements say nothing more; those after which rows are gone, or
 * have another table, are told.
 */
final class Statements {
  /** Parts that are no words of a statement: comments, names and texts. */
  private static final Pattern PARTS =
      Pattern.compile(
          "(?:/\\*(?!M?!).*?\\*/|--[^\\n]*|#[^\\n]*)"
              + "|(?:/\\*M?!\\d*|\\*/)"
              + "|(`(?:[^`]++|``)*+`|\"(?:[^\"]++|\"\")*+\"|\\[[^\\]]*\\])"
              + "|('(?:[^'\\\\]++|''|\\\\.)*+')",
          Pattern.DOTALL);

  private static final int NAME = 1;
  private static final int TEXT = 2;

  private static final Pattern TOLD =
      Pattern.compile(
          "^\\s*(truncate\\b"
              + "|drop\\s+(table|database|schema)\\b"
              + "|rename\\s+tables?\\b"
              + "|create\\s+or\\s+replace\\s+table\\b"
              + "|alter\\b.*\\btable\\b.*\\brename\\s+(?!column\\b|index\\b|key\\b|constraint\\b|partition\\b)"
              + "|alter\\b.*\\btable\\b.*\\b(truncate|drop|exchange|convert|detach)\\s+partition\\b)",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private Statements() {}

  static void check(String statement) throws BadMessage {
    if (TOLD.matcher(words(statement)).find()) {
      throw told(statement);
    }
  }

  static BadMessage told(String statement) {
    return new BadMessage(
        "the source ran the statement '%s', which is not followed: rows of the table are still there; change it by hand"
            .formatted(statement.strip()));
  }

  /** A statement without comments, whose names and texts are no words. */
  private static String words(String statement) {
    return PARTS
        .matcher(statement)
        .replaceAll(
            found -> found.group(NAME) != null ? "x" : found.group(TEXT) != null ? "''" : " ");
  }
}
