package io.keylake.tables.compaction;

import io.keylake.merge.TextCases;
import io.keylake.tables.compaction.CompactionPlan.Choice;
import io.keylake.tables.planning.MemoryTable;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.junit.jupiter.api.Test;

/** The cases of {@code tests/cases/compaction/plans.txt}: what a policy wants of a table. */
class CompactionPlanCasesTest {
  @Test
  void everyCaseIsPlannedAsItSays() {
    TextCases.check("compaction", "plans.txt", CompactionPlanCasesTest::answer);
  }

  private static List<String> answer(List<String> input) {
    MemoryTable table = MemoryTable.create("explicit");
    List<String> lines = new ArrayList<>();
    for (String line : input) {
      int colon = line.indexOf(':');
      String rest = line.substring(colon + 1).trim();
      switch (line.substring(0, colon)) {
        case "commit" -> table.commit(rest.split(" \\| "));
        case "buckets" -> table.changeBuckets(Integer.parseInt(rest));
        default -> {
          lines.add(line);
          lines.addAll(plan(table, policy(rest)));
        }
      }
    }
    return lines;
  }

  private static CompactionPolicy policy(String said) {
    return switch (said) {
      case "full" -> CompactionPolicy.FULL;
      case "settle" -> CompactionPolicy.SETTLE;
      case "rebucket" -> CompactionPolicy.DEFAULT.onlyRebucketing();
      default -> CompactionPolicy.fromJson(said);
    };
  }

  /** The plan of a table a day after its last commit. */
  private static List<String> plan(MemoryTable table, CompactionPolicy policy) {
    table.table.refresh();
    Instant tomorrow =
        Instant.ofEpochMilli(table.table.currentSnapshot().timestampMillis())
            .plus(Duration.ofDays(1));
    CompactionPlan plan = new CompactionPlanner(table.table, null, policy, tomorrow).plan();
    List<String> lines = new ArrayList<>();
    plan.buckets().forEach(choice -> lines.addAll(text(choice)));
    return lines;
  }

  private static List<String> text(Choice choice) {
    String bucket = "bucket " + choice.partition().get(0) + ", depth " + choice.layout().depth();
    if (choice.settling().isPresent()) {
      return List.of(bucket + ": settled, " + choice.settling().get());
    }
    if (choice.compaction().isEmpty()) {
      return List.of(bucket + ": nothing");
    }
    Compaction compaction = choice.compaction().get();
    List<String> lines = new ArrayList<>();
    lines.add(
        "%s: %s, %s%s"
            .formatted(
                bucket,
                compaction.reason(),
                compaction.because(),
                compaction.dropsTombstones() ? ", without tombstones" : ""));
    lines.add(
        "  merges "
            + compaction.inputs().stream()
                .map(DataFile::location)
                .sorted()
                .collect(Collectors.joining(" ")));
    compaction.stretches().stream()
        .flatMap(stretch -> stretch.sections().stream())
        .forEach(section -> lines.add("  section " + text(section)));
    return lines;
  }

  private static String text(SectionPlan section) {
    return section.runs().stream()
        .map(run -> run.stream().map(StoredFile::location).collect(Collectors.joining(" ")))
        .collect(Collectors.joining(", "));
  }
}
