package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Function;

/**
 * A file of cases in {@code tests/cases}: after {@code case: <title>} the input, a line {@code =>},
 * and the expected lines up to an empty line. With {@code -Dkeylake.rewrite=true} the expected
 * lines are written anew, for a reviewer to read.
 */
public final class TextCases {
  private static final String TITLE = "case: ";
  private static final String ANSWER = "=>";

  private TextCases() {}

  /**
   * Runs all cases of a file.
   *
   * @param answer the lines that the input of a case gives
   */
  public static void check(
      String folder, String name, Function<List<String>, List<String>> answer) {
    Path file = Path.of(System.getProperty("keylake.cases"), folder, name);
    try {
      List<String> given = Files.readAllLines(file);
      List<String> found = answered(given, answer);
      if (Boolean.getBoolean("keylake.rewrite")) {
        Files.writeString(file, String.join("\n", found) + "\n");
      } else {
        assertEquals(String.join("\n", found), String.join("\n", given));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<String> answered(
      List<String> given, Function<List<String>, List<String>> answer) {
    List<String> found = new ArrayList<>();
    List<String> input = new ArrayList<>();
    Set<String> titles = new HashSet<>();
    boolean isExpected = false;
    for (String line : given) {
      isExpected &= !line.isBlank();
      if (isExpected) {
        continue;
      }
      found.add(line);
      if (line.startsWith(TITLE)) {
        assertTrue(titles.add(line), line);
        input.clear();
      } else if (line.equals(ANSWER)) {
        found.addAll(answer.apply(List.copyOf(input)));
        isExpected = true;
      } else if (!line.isBlank() && !line.startsWith("#")) {
        input.add(line);
      }
    }
    assertFalse(titles.isEmpty());
    return found;
  }
}
