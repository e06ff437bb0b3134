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
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Files are written as "age:lower-upper", sections as their runs, oldest first. */
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

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          no file                            |                          |
          one file                           | 1:a-d                    | (1: a-d)
          one key                            | 1:a-a                    | (1: a-a)
          two commits apart                  | 1:a-d 2:e-h              | (1: a-d) (2: e-h)
          two commits apart, newer first     | 1:e-h 2:a-d              | (2: a-d) (1: e-h)
          overlapping                        | 1:a-e 2:c-h              | (1: a-e, 2: c-h)
          touching in one key                | 1:a-d 2:d-h              | (1: a-d, 2: d-h)
          nested                             | 2:c-d 1:a-h              | (1: a-h, 2: c-d)
          nested, and past the inner end     | 1:a-h 2:c-d 3:f-k        | (1: a-h, 2: c-d, 3: f-k)
          equal bounds                       | 2:a-d 1:a-d 3:a-d        | (1: a-d, 2: a-d, 3: a-d)
          equal bounds of one key            | 1:a-a 2:a-a              | (1: a-a, 2: a-a)
          a chain                            | 1:a-c 2:c-e 3:e-g 4:h-i  | (1: a-c, 2: c-e, 3: e-g) (4: h-i)
          one age apart                      | 1:a-b 1:c-d              | (1: a-b) (1: c-d)
          one age, one run below a bridge    | 1:a-b 1:d-e 2:b-d        | (1: a-b d-e, 2: b-d)
          one age, files in any order        | 2:b-g 1:f-g 1:a-b 1:c-d  | (1: a-b c-d f-g, 2: b-g)
          one age overlapping, two runs      | 1:a-d 1:c-f              | (1: a-d, 1: c-f)
          one age touching, two runs         | 1:a-c 1:c-f              | (1: a-c, 1: c-f)
          one age nested, then apart         | 1:a-h 1:b-c 1:d-e        | (1: a-h, 1: b-c d-e)
          the drawing on Section             | 1:a-d 1:k-m 2:f-j 3:b-d  | (1: a-d, 3: b-d) (2: f-j) (1: k-m)
          """)
  void cases(String title, String files, String expected) {
    List<File> given =
        files == null ? List.of() : Arrays.stream(files.split(" +")).map(File::of).toList();
    List<File> reversed = new ArrayList<>(given);
    Collections.reverse(reversed);
    assertEquals(expected == null ? "" : expected, text(cut(given)));
    assertEquals(expected == null ? "" : expected, text(cut(reversed)));
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

  private static String text(List<Section<File>> sections) {
    return sections.stream()
        .map(
            section ->
                section.runs().stream()
                    .map(run -> run.age() + ": " + words(run))
                    .collect(Collectors.joining(", ", "(", ")")))
        .collect(Collectors.joining(" "));
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
