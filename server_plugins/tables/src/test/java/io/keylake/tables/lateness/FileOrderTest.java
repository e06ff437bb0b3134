package io.keylake.tables.lateness;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.TextCases;
import io.keylake.tables.lateness.FileOrder.Ordered;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;

/** The cases of {@code tests/cases/planning/file_order.txt}. */
class FileOrderTest {
  @Test
  void filesAreInTheirOrder() {
    TextCases.check("planning", "file_order.txt", FileOrderTest::ordered);
  }

  private static List<String> ordered(List<String> lines) {
    List<Ordered> files =
        lines.stream()
            .map(line -> line.split(" "))
            .map(
                parts -> {
                  String name = "data-late_7/0-1-" + parts[1] + "-" + parts[0] + ".parquet";
                  return new Ordered(name, Long.parseLong(parts[0]), FileMark.of(name));
                })
            .toList();
    FileOrder order = FileOrder.ofMarked(files);
    return List.of(
        files.stream()
            .sorted(Comparator.comparingLong(file -> order.age(file.location())))
            .map(file -> String.valueOf(file.number()))
            .collect(Collectors.joining(" ")));
  }

  @Test
  void rowsThatWereLateAreNoRunWithTheNewestFile() {
    List<Ordered> files =
        List.of(
            new Ordered("0-1-mixed-compact-a.parquet", 3, FileMark.of("0-1-mixed-compact-a")),
            new Ordered("0-1-b.parquet", 3, FileMark.of("0-1-b.parquet")));
    FileOrder order = FileOrder.ofMarked(files);
    assertEquals(2, order.age("0-1-mixed-compact-a.parquet"));
    assertEquals(1, order.age("0-1-b.parquet"));
  }

  @Test
  void aMarkIsReadAsItIsWritten() {
    for (FileMark mark :
        List.of(
            FileMark.late(17),
            FileMark.timely(-3),
            FileMark.timely(Long.MIN_VALUE),
            new FileMark(false, null, 4L),
            new FileMark(true, Long.MAX_VALUE, 12L))) {
      assertEquals(mark, FileMark.of("data/00000-1-" + mark.text() + "compact-1f.parquet"));
    }
  }
}
