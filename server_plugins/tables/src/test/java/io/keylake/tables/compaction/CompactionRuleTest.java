package io.keylake.tables.compaction;

import static io.keylake.tables.history.Settling.DONE;
import static io.keylake.tables.history.Settling.IN_VAIN;
import static io.keylake.tables.history.Settling.NOT_YET;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.compaction.BucketLayout.File;
import io.keylake.tables.compaction.BucketLayout.Run;
import io.keylake.tables.compaction.CompactionRule.Pick;
import io.keylake.tables.compaction.CompactionRule.Reason;
import io.keylake.tables.history.Settling;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * A picture is written as its runs, oldest first: "bytes/section,section" with a row a byte, or
 * "bytes" alone in section 0; "*" after it for tombstones, "?" for partial rows, "+" where it is
 * settled, "~" where that was in vain, "^" where the table had fewer buckets, and "%" where it
 * lacked an index. A pick is "reason from-to".
 */
class CompactionRuleTest {
  private static final Instant NOW = Instant.parse("2026-01-31T00:00:00Z");

  /** Small numbers: tiers end at 10, 40, 160, ... */
  private static final CompactionPolicy SMALL =
      new CompactionPolicy(8, 4, 4, 10, 0.5, 0.02, null, 1000, 100, null, 0);

  private static BucketLayout layout(String text) {
    List<Run> runs = new ArrayList<>();
    for (String run : text.isBlank() ? new String[0] : text.trim().split(" +")) {
      boolean hasTombstones = run.endsWith("*");
      boolean hasWholeRows = !run.endsWith("?");
      Settling settling = run.endsWith("+") ? DONE : run.endsWith("~") ? IN_VAIN : NOT_YET;
      String[] parts = run.replaceAll("[*?+~^%]", "").split("/");
      long bytes = Long.parseLong(parts[0]);
      String[] sections = parts.length == 1 ? new String[] {"0"} : parts[1].split(",");
      int age = runs.size() + 1;
      List<File> files =
          Arrays.stream(sections)
              .map(
                  section ->
                      new File(
                          age + "." + section,
                          bytes / sections.length,
                          bytes / sections.length,
                          0,
                          1,
                          Integer.parseInt(section)))
              .toList();
      runs.add(
          new Run(
              age,
              NOW.minus(Duration.ofDays(30 - age)),
              hasTombstones,
              hasWholeRows,
              run.endsWith("^"),
              run.endsWith("%"),
              settling,
              files));
    }
    return BucketLayout.of(runs, NOW);
  }

  private static String shown(Optional<Pick> pick) {
    return pick.map(
            p -> "%s %d-%d".formatted(p.reason().word(), p.stretch().from(), p.stretch().to()))
        .orElse("nothing");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          an empty bucket                       |                                   | nothing
          one run                               | 100                               | nothing
          a tier that is not full               | 90 9 9 9                          | nothing
          a full tier beside a large run        | 90 9 9 9 9                        | full_tier 1-5
          smaller runs between peers come along | 900 30 30 5 30 30                 | full_tier 1-6
          the lowest full tier first            | 300 30 30 30 30 5 5 5 5           | full_tier 5-9
          a larger run keeps neighbours apart   | 9 9 90 9 9                        | nothing
          a full tier that overlaps nowhere     | 9/0 9/1 9/2 9/3                   | nothing
          a full tier that hardly overlaps      | 9/0 9/1 9/2 9/3 1/3               | full_tier 0-5
          most rows are superseded              | 90 90 90                          | superseded 0-3
          half of the rows, of a pair           | 9 9                               | superseded 0-2
          below half of the rows                | 90 50                             | nothing
          small runs hardly meet               | 20 20 900                         | nothing
          beyond the cap                        | 900 900                           | nothing
          a tier beyond the cap, in part        | 500 300 300 300 300               | full_tier 2-5
          too many files                        | 40 40/1 9/2 9/3 9/4 9/5 9/6 9/7 9/8 | file_count 2-8
          too many files in one run             | 80/1,2,3,4,5,6,7,8,9              | nothing
          large files do not count              | 60 60/1 60/2 60/3 60/4 60/5 60/6 60/7 60/8 | nothing
          """)
  void cases(String title, String runs, String expected) {
    assertEquals(expected, shown(CompactionRule.first(layout(runs == null ? "" : runs), SMALL)));
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          one run of fewer buckets              | 100^                              | rebucket 0-1
          neighbours are divided together       | 9^ 9^ 90                          | rebucket 0-2
          the oldest stretch first              | 90 9^ 9^ 9 9^                     | rebucket 1-3
          before any other rule                 | 30^ 9 9 9 9                       | rebucket 0-1
          as much as is allowed in one merge    | 400^ 400^ 400^                    | rebucket 0-2
          a run beyond the cap by itself        | 9000^ 9^                          | rebucket 0-1
          """)
  void rebucketingCases(String title, String runs, String expected) {
    for (CompactionPolicy policy : List.of(SMALL, SMALL.onlyRebucketing())) {
      assertEquals(expected, shown(CompactionRule.first(layout(runs), policy)));
    }
    Optional<Pick> settling = CompactionRule.first(layout(runs), CompactionPolicy.SETTLE);
    assertFalse(shown(settling).startsWith("rebucket"), "what settles writes no data again");
  }

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          one run without the index             | 100%                              | index 0-1
          a run without it among others         | 90 9% 9                           | index 0-3
          after a division                      | 90% 9^                            | rebucket 1-2
          """)
  void runsFromBeforeAnIndexAreWrittenAgainWhereAllIsMerged(
      String title, String runs, String expected) {
    assertEquals(expected, shown(CompactionRule.first(layout(runs), CompactionPolicy.FULL)));
    assertFalse(shown(CompactionRule.first(layout(runs), SMALL)).startsWith("index"));
    Optional<Pick> settling = CompactionRule.first(layout(runs), CompactionPolicy.SETTLE);
    assertFalse(shown(settling).startsWith("index"), "what settles writes no data again");
  }

  @Test
  void nothingButRebucketingIsWantedWhereThatIsThePolicy() {
    for (String runs : List.of("90 90 90", "9 9 9 9", "900 900")) {
      Optional<Pick> pick = CompactionRule.first(layout(runs), SMALL.onlyRebucketing());
      assertEquals("nothing", shown(pick));
    }
  }

  /** Of 1000 rows that overlap, 200 have to be new. */
  private static final CompactionPolicy SETTLING =
      new CompactionPolicy(8, 4, 4, 10, 0.9, 0.02, 0.2, 10_000, 100, null, 0);

  @ParameterizedTest(name = "{0}")
  @CsvSource(
      delimiter = '|',
      textBlock =
          """
          runs that overlap                     | 900 900                   | settle 0-2
          with tombstones                       | 900 900*                  | settle 0-2
          enough is new                         | 800+ 200                  | settle 0-2
          too little is new                     | 801+ 199                  | nothing
          all is settled                        | 900+ 900+                 | nothing
          a full tier that is settled           | 900+ 30+ 30+ 30+ 30+      | nothing
          a full tier with a new run            | 900+ 30+ 30+ 30+ 30       | full_tier 1-5
          it was in vain                        | 900~ 900~                 | nothing
          partial rows                          | 900 900?                  | nothing
          runs that do not overlap              | 900/0 900/1               | nothing
          only what overlaps counts             | 900/1+ 90+ 90             | settle 0-3
          small runs are merged as cheaply      | 4 4                       | nothing
          """)
  void settlingCases(String title, String runs, String expected) {
    assertEquals(expected, shown(CompactionRule.first(layout(runs), SETTLING)));
  }

  @Test
  void settlingAllTakesWhateverOverlaps() {
    for (String runs : List.of("900 900?", "4 4", "900+ 1")) {
      assertEquals(
          "settle 0-2", shown(CompactionRule.first(layout(runs), CompactionPolicy.SETTLE)));
    }
    for (String runs : List.of("900+ 900+", "900/0 1/1", "900~ 900~")) {
      Optional<Pick> settling = CompactionRule.first(layout(runs), CompactionPolicy.SETTLE);
      assertFalse(shown(settling).startsWith("rebucket"), "what settles writes no data again");
    }
  }

  @Test
  void whatIsSettledIsNotMergedWhenItIsRead() {
    assertEquals(2, layout("900 900").depth());
    assertEquals(1, layout("900+ 900+").depth());
    assertEquals(3, layout("900+ 900+ 1").depth());
    assertEquals(2, layout("900/0+ 900/0+ 9/1 9/1").depth());
    assertEquals(2, layout("900~ 900~").depth());
  }

  @Test
  void theFullPolicyMergesWhateverOverlaps() {
    assertEquals(
        "superseded 0-2", shown(CompactionRule.first(layout("900 1"), CompactionPolicy.FULL)));
    assertEquals(
        "nothing", shown(CompactionRule.first(layout("900/0 1/1"), CompactionPolicy.FULL)));
    assertEquals(
        "file_count 0-4", shown(CompactionRule.first(layout("5 900 1 7"), CompactionPolicy.FULL)));
  }

  @Test
  void theNewestSmallRunsStayAsTheyWereWritten() {
    long seconds = Duration.ofHours(27 * 24 + 12).toSeconds(); // the third run and later ones
    CompactionPolicy waiting =
        new CompactionPolicy(8, 4, 4, 10, 1, 0.02, null, 1000, 100, null, seconds);
    assertEquals("nothing", shown(CompactionRule.first(layout("9 9 2 2 2 2"), waiting)));
    assertEquals(
        "full_tier 0-6",
        shown(CompactionRule.first(layout("9 9 2 2 2 2"), waiting.ofAllAges())),
        "a call does not wait");
    assertEquals(
        "full_tier 0-4",
        shown(CompactionRule.first(layout("9 9 9 9 2 2"), waiting)),
        "recent runs that are not small do not wait");
    assertEquals("nothing", shown(CompactionRule.first(layout("1 1 1 1 1 1 1 1"), waiting)));
    assertEquals(
        Reason.FILE_COUNT,
        CompactionRule.first(layout("1 1 1 1 1 1 1 1 1"), waiting).orElseThrow().reason(),
        "too many files are merged, come what may");
    assertEquals("rebucket 2-3", shown(CompactionRule.first(layout("1 1 1^"), waiting)));
  }

  @Test
  void tombstonesGoWhenNothingOlderIsLeftAndTheirTimeIsOver() {
    for (long days : List.of(0, 28, 29, 40)) {
      CompactionPolicy policy =
          new CompactionPolicy(
              8, 4, 4, 10, 0.5, 0.02, null, 1000, 100, Duration.ofDays(days).toSeconds(), 0);
      Pick whole = CompactionRule.first(layout("9* 9 9 9"), policy).orElseThrow();
      assertEquals(days <= 29, whole.dropsTombstones(policy), days + " days");
      Pick newer = CompactionRule.first(layout("90 9* 9 9 9"), policy).orElseThrow();
      assertEquals(1, newer.stretch().from());
      assertTrue(!newer.dropsTombstones(policy), "an older run remains");
    }
    CompactionPolicy forgetting =
        new CompactionPolicy(
            8, 4, 4, 10, 0.5, 0.02, null, 1000, 100, Duration.ofDays(20).toSeconds(), 0);
    assertEquals("expired_tombstones 0-1", shown(CompactionRule.first(layout("900*"), forgetting)));
    assertEquals(
        "nothing",
        shown(CompactionRule.first(layout("900* 9"), forgetting)),
        "the younger run may hold late data that they keep down");
    assertEquals("nothing", shown(CompactionRule.first(layout("900 9*"), forgetting)));
    for (String apart : List.of("900/0* 9/1", "900/0 9/1*")) {
      assertEquals(
          "expired_tombstones 0-2", shown(CompactionRule.first(layout(apart), forgetting)), apart);
    }
    Pick kept = CompactionRule.first(layout("9* 9 9 9"), SMALL).orElseThrow();
    assertTrue(!kept.dropsTombstones(SMALL), "for ever, unless said");
  }

  @Test
  void aBucketThatNobodyMergedForLongIsPlanned() {
    String thousands = "9 ".repeat(3000);
    assertEquals("file_count 0-3000", shown(CompactionRule.first(layout(thousands), SMALL)));
  }

  /** Whatever comes, the rules come to rest, and then no limit is exceeded. */
  @Test
  void randomBucketsComeToRest() {
    for (int seed = 0; seed < 300; seed++) {
      Random random = new Random(seed);
      List<Run> runs = new ArrayList<>();
      for (int day = 0; day < 60; day++) {
        long bytes = 1 + random.nextInt(random.nextInt(4) == 0 ? 200 : 12);
        File file = new File("f" + day, bytes, bytes, 0, 1, random.nextInt(3));
        runs.add(new Run(day, NOW, false, true, false, false, NOT_YET, List.of(file)));
        int merges = 0;
        for (Optional<Pick> pick = pick(runs); pick.isPresent(); pick = pick(runs)) {
          merge(runs, pick.get());
          assertTrue(++merges < 60, "seed " + seed + " never rests");
        }
        long small =
            runs.stream().flatMap(run -> run.files().stream()).filter(f -> f.bytes() < 50).count();
        assertTrue(small <= SMALL.maxFiles(), "seed " + seed);
      }
    }
  }

  private static Optional<Pick> pick(List<Run> runs) {
    return CompactionRule.first(BucketLayout.of(runs, NOW), SMALL);
  }

  /** As a merge would leave it: one run, with one file a section, as large as its largest part. */
  private static void merge(List<Run> runs, Pick pick) {
    List<Run> merged = List.copyOf(pick.stretch().runs());
    List<File> files =
        IntStream.range(0, 3)
            .mapToObj(
                section ->
                    merged.stream()
                        .flatMap(run -> run.files().stream())
                        .filter(file -> file.section() == section)
                        .mapToLong(File::bytes)
                        .max()
                        .orElse(0))
            .reduce(
                new ArrayList<File>(),
                (list, bytes) -> {
                  if (bytes > 0) {
                    list.add(new File("m", bytes, bytes, 0, 1, list.size()));
                  }
                  return list;
                },
                (one, two) -> one);
    // The sections of what is merged lie side by side in one run; small ones share a file.
    long all = files.stream().mapToLong(File::bytes).sum();
    int at = pick.stretch().from();
    for (int i = pick.stretch().from(); i < pick.stretch().to(); i++) {
      runs.remove(at);
    }
    runs.add(
        at,
        new Run(
            merged.get(merged.size() - 1).age(),
            NOW,
            false,
            true,
            false,
            false,
            NOT_YET,
            all < 100 ? List.of(new File("m", all, all, 0, 1, 0)) : files));
  }
}
