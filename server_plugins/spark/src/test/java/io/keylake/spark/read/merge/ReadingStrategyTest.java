package io.keylake.spark.read.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.spark.read.merge.ReadingStrategy.Way;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The strategies of {@code tests/cases/reading/strategies.txt}, whose form {@code
 * tests/cases/README.md} says. With {@code -Dkeylake.rewrite=true} the expected lines are written
 * anew, for a reviewer to read.
 */
class ReadingStrategyTest {
  private static final Path CASES =
      Path.of(System.getProperty("keylake.cases"), "reading", "strategies.txt");

  private static final Set<String> NUMBERS = Set.of("columns", "values", "filter", "runs");

  private static final Set<String> WORDS =
      Set.of(
          "ordered",
          "filtered",
          "key-filter",
          "counts",
          "passed-through",
          "one-row-each",
          "known",
          "tombstones",
          "accumulates",
          "few-rows");

  /** The words of a case: facts of a read and a section. */
  private record Facts(Map<String, Integer> numbers, Set<String> words) {
    static Facts of(String line) {
      Map<String, Integer> numbers = new HashMap<>(Map.of("columns", 2, "values", 1, "runs", 2));
      Set<String> words = new HashSet<>();
      for (String word : line.substring("section:".length()).trim().split(" +")) {
        String[] parts = word.split("=");
        assertTrue((parts.length == 2 ? NUMBERS : WORDS).contains(parts[0]), word);
        if (parts.length == 2) {
          numbers.put(parts[0], Integer.parseInt(parts[1]));
        } else {
          words.add(word);
        }
      }
      return new Facts(numbers, words);
    }

    boolean is(String word) {
      return words.contains(word);
    }

    SectionFacts ofSection() {
      ReadFacts read =
          new ReadFacts(
              is("ordered"),
              is("filtered"),
              numbers.get("columns"),
              numbers.get("values"),
              numbers.getOrDefault("filter", ReadFacts.NO_FILTER),
              is("key-filter"),
              is("counts"));
      return new SectionFacts(
          read,
          is("passed-through"),
          numbers.get("runs"),
          is("one-row-each") && !is("ordered"),
          is("known"),
          !is("tombstones"),
          is("accumulates"),
          is("few-rows"));
    }
  }

  private static List<String> strategies(SectionFacts facts) {
    ReadingStrategy chosen = ReadingStrategy.of(facts);
    List<String> lines = new ArrayList<>(List.of(chosen.toString()));
    if (chosen.way() == Way.KEYS_FIRST) {
      chosen = ReadingStrategy.afterKeys(facts);
      lines.add("otherwise " + chosen);
    }
    if (facts.notesSelection() && chosen.way() == Way.MERGE) {
      lines.add("notes the selection");
    } else if (facts.notesSelection() && chosen.way() == Way.SIEVE_FIRST) {
      lines.add("notes the selection where all rows are needed");
    }
    return lines;
  }

  @Test
  void everyCaseHasItsStrategy() throws IOException {
    List<String> given = Files.readAllLines(CASES);
    List<String> found = new ArrayList<>();
    boolean isExpected = false;
    Set<String> titles = new HashSet<>();
    for (String line : given) {
      isExpected &= !line.isBlank();
      if (!isExpected) {
        found.add(line);
      }
      if (line.startsWith("case: ")) {
        assertTrue(titles.add(line), line);
      } else if (line.startsWith("section:")) {
        found.add("----");
        found.addAll(strategies(Facts.of(line).ofSection()));
        isExpected = true;
      }
    }
    assertFalse(titles.isEmpty());
    if (Boolean.getBoolean("keylake.rewrite")) {
      Files.writeString(CASES, String.join("\n", found) + "\n");
    } else {
      assertEquals(String.join("\n", found), String.join("\n", given));
    }
  }
}
