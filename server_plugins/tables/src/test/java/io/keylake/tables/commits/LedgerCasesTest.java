package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.merge.TextCases;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.OffsetRanges.Range;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Table;
import org.junit.jupiter.api.Test;

/** The cases of {@code tests/cases/commits/ledger.txt}: which commits a branch has already. */
class LedgerCasesTest {
  /** As files of keylake are called. */
  private static final String NAME =
      "data/00000-%d-c4c84282-2eb3-465b-a3ba-2efc403b8bb9-00001.parquet";

  @Test
  void everyStepEndsAsItSays() {
    TextCases.check("commits", "ledger.txt", input -> new Steps().run(input));
  }

  /**
   * The steps of one case on a table of their own; commits are called by the lines that made them.
   */
  private static final class Steps {
    private final Table table = MemoryTables.partitioned().loadTable(MemoryTables.NAME);
    private final Map<Integer, Long> snapshots = new TreeMap<>();
    private int line;

    List<String> run(List<String> input) {
      List<String> lines = new ArrayList<>();
      for (String step : input) {
        line++;
        String outcome;
        try {
          outcome = step(List.of(step.split(" +")));
        } catch (KeylakeException refused) {
          outcome = "refused: " + refused.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        }
        table.refresh();
        lines.add("%d %s".formatted(line, outcome));
      }
      return lines;
    }

    private String step(List<String> words) {
      Map<String, String> named = new HashMap<>();
      List<String> plain = new ArrayList<>();
      for (String word : words.subList(1, words.size())) {
        String[] parts = word.split("=");
        if (parts.length == 2) {
          named.put(parts[0], parts[1]);
        } else {
          plain.add(word);
        }
      }
      String branch = named.get("on");
      return switch (words.get(0)) {
        case "write" -> write(branch, named.get("key"), plain);
        case "branch" -> {
          table.manageSnapshots().createBranch(plain.get(0)).commit();
          yield "made";
        }
        case "undo" ->
            said(
                new Commits(table)
                    .make(
                        LedgerChanges.undo(branch, snapshots.get(Integer.parseInt(plain.get(0))))));
        case "copy" -> copy(branch, snapshots.get(Integer.parseInt(plain.get(0))));
        case "rollback" ->
            said(
                new Commits(table)
                    .make(new Rollback(branch, snapshots.get(Integer.parseInt(plain.get(0))))));
        case "expire" -> {
          LedgerChanges.expire(table);
          yield "only heads are left";
        }
        case "next" -> "next " + new TreeMap<>(SourceOffsets.next(table, branch));
        case "known" -> known(branch, plain.get(0));
        default -> throw new IllegalArgumentException(words.get(0));
      };
    }

    private String write(String branch, String key, List<String> ranges) {
      WriteLabels labels = WriteLabels.NONE.once(key);
      if (!ranges.isEmpty()) {
        TreeMap<String, Range> offsets = new TreeMap<>();
        for (String range : ranges) {
          String[] parts = range.split("[:-]");
          offsets.put(parts[0], new Range(Long.parseLong(parts[1]), Long.parseLong(parts[2])));
        }
        labels = labels.of(new OffsetRanges(offsets));
      }
      WriteSummary summary = new WriteSummary("update", 1, 7L, 9L, List.of("spend"), labels);
      return said(new Commits(table).make(new Append(branch, List.of(file()), summary)));
    }

    private DataFile file() {
      return DataFiles.builder(table.spec())
          .copy(MemoryTables.dayFile(table, "1"))
          .withPath(NAME.formatted(line))
          .withSortOrder(KeyedSchema.of(table).keyOrder(table))
          .build();
    }

    private String said(Commits.Result result) {
      if (result.isRepeated()) {
        return "there since " + lineOf(result.first());
      }
      assertTrue(result.isCommitted());
      if (result.snapshotId() != null) {
        snapshots.put(line, result.snapshotId());
      }
      return "committed";
    }

    private String lineOf(CommitLog.Entry entry) {
      String made =
          snapshots.entrySet().stream()
              .filter(each -> each.getValue() == entry.snapshotId())
              .map(each -> String.valueOf(each.getKey()))
              .collect(Collectors.joining());
      return table.snapshot(entry.snapshotId()) == null ? made + ", which has expired" : made;
    }

    private String known(String branch, String key) {
      return Commits.remembered(table, new CommitLog(table, branch).head(), key)
          .map(entry -> "made by " + lineOf(entry))
          .orElse("not known");
    }

    private String copy(String branch, long from) {
      NumberSet same = NumberSet.of(table.snapshot(from).sequenceNumber());
      return said(new Commits(table).make(LedgerChanges.copy(table, branch, from, same)));
    }
  }
}
