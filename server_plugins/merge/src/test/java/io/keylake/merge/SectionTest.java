package io.keylake.merge;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Random;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** The cases of {@code tests/cases/planning/sections.txt}, and random files. */
class SectionTest {
  private record File(int age, String lower, String upper) {
    static File of(String text) {
      String[] parts = text.split("[:-]");
      return new File(Integer.parseInt(parts[0]), parts[1], parts[2]);
    }

    @Override
    public String toString() {
      return lower + "-" + upper;
    }
  }

  @Test
  void everyCaseIsCutAsItSays() {
    TextCases.check(
        "planning",
        "sections.txt",
        input -> {
          List<File> given =
              Arrays.stream(input.get(0).substring("files:".length()).trim().split(" +"))
                  .filter(word -> !word.isEmpty())
                  .map(File::of)
                  .toList();
          List<File> reversed = new ArrayList<>(given);
          Collections.reverse(reversed);
          assertEquals(text(cut(given)), text(cut(reversed)));
          return text(cut(given));
        });
  }

  @Test
  void randomFilesAreCutWhereNothingOverlaps() {
    for (int seed = 0; seed < 500; seed++) {
      Random random = new Random(seed);
      List<File> files =
          IntStream.range(0, random.nextInt(30)).mapToObj(i -> randomFile(random)).toList();
      List<Section<File>> sections = cut(files);
      assertEquals(
          sorted(files),
          sorted(sections.stream().flatMap(s -> files(s).stream()).toList()),
          "every file is in one section");
      for (int i = 0; i < sections.size(); i++) {
        checkConnected(files(sections.get(i)));
        sections.get(i).runs().forEach(SectionTest::checkRun);
        checkAges(sections.get(i));
        if (i > 0) {
          assertTrue(upper(sections.get(i - 1)).compareTo(lower(sections.get(i))) < 0);
        }
      }
    }
  }

  private static File randomFile(Random random) {
    int a = random.nextInt(90);
    int b = Math.min(a + random.nextInt(12), 99);
    return new File(random.nextInt(4), "%02d".formatted(a), "%02d".formatted(b));
  }

  private static List<Section<File>> cut(List<File> files) {
    return Section.cut(files, File::lower, File::upper, File::age, Comparator.naturalOrder());
  }

  private static List<String> text(List<Section<File>> sections) {
    return sections.stream()
        .map(
            section ->
                section.runs().stream()
                    .map(run -> run.age() + ": " + words(run))
                    .collect(Collectors.joining(", ")))
        .toList();
  }

  private static String words(SortedRun<File> run) {
    return run.files().stream().map(File::toString).collect(Collectors.joining(" "));
  }

  private static List<File> files(Section<File> section) {
    return section.runs().stream().flatMap(run -> run.files().stream()).toList();
  }

  private static List<String> sorted(List<File> files) {
    return files.stream().map(file -> file.age() + ":" + file).sorted().toList();
  }

  private static String lower(Section<File> section) {
    return files(section).stream().map(File::lower).min(Comparator.naturalOrder()).orElseThrow();
  }

  private static String upper(Section<File> section) {
    return files(section).stream().map(File::upper).max(Comparator.naturalOrder()).orElseThrow();
  }

  /** No smaller section would do: behind every key but the last, some file goes on. */
  private static void checkConnected(List<File> files) {
    String last = files.stream().map(File::upper).max(Comparator.naturalOrder()).orElseThrow();
    for (File end : files) {
      boolean goesOn =
          files.stream()
              .anyMatch(
                  file ->
                      file.lower().compareTo(end.upper()) <= 0
                          && file.upper().compareTo(end.upper()) > 0);
      assertTrue(end.upper().equals(last) || goesOn, () -> end + " could end a section: " + files);
    }
  }

  private static void checkRun(SortedRun<File> run) {
    for (int i = 0; i < run.files().size(); i++) {
      assertEquals(run.age(), run.files().get(i).age());
      assertTrue(
          i == 0 || run.files().get(i - 1).upper().compareTo(run.files().get(i).lower()) < 0);
    }
  }

  private static void checkAges(Section<File> section) {
    for (int i = 1; i < section.runs().size(); i++) {
      assertTrue(section.runs().get(i - 1).age() <= section.runs().get(i).age());
    }
  }
}
