package io.keylake.tables;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.tables.BucketLayout.File;
import io.keylake.tables.BucketLayout.Run;
import io.keylake.tables.CompactionRule.Pick;
import java.io.Serializable;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;

/**
 * Plans the compaction of a branch from metadata alone:
 *
 * <ol>
 *   <li>Draw each bucket: its runs, and in which sections their files lie.
 *   <li>Ask the rules; the first that picks neighbouring runs decides.
 *   <li>Of the picked files, leave alone those that are large and overlap no other: they would come
 *       out as they went in.
 * </ol>
 */
public final class CompactionPlanner {
  private final Table table;
  private final KeyedSchema schema;
  private final CompactionPolicy policy;
  private final Instant now;
  private final Long snapshotId;
  private final Map<Long, Instant> commitTimes = new HashMap<>();

  public CompactionPlanner(Table table, String branch, CompactionPolicy policy, Instant now) {
    this.table = table;
    this.schema = KeyedSchema.of(table);
    this.policy = policy;
    this.now = now;
    this.snapshotId = new CommitLog(table, branch).headId();
    table.snapshots().forEach(each -> commitTimes.put(each.sequenceNumber(), committedAt(each)));
  }

  private static Instant committedAt(Snapshot snapshot) {
    return Instant.ofEpochMilli(snapshot.timestampMillis());
  }

  public CompactionPlan plan() {
    ReadPlanner everything = planner(MergeRules.Wanted.HISTORY);
    List<CompactionPlan.Choice> choices = new ArrayList<>();
    everything
        .files()
        .forEach((partition, files) -> choices.add(choose(everything, partition, files)));
    choices.sort(Comparator.comparing(choice -> choice.partition().toString()));
    return new CompactionPlan(snapshotId, choices);
  }

  private ReadPlanner planner(MergeRules.Wanted wanted) {
    Set<Integer> values =
        schema.values().stream().map(NestedField::fieldId).collect(Collectors.toSet());
    return new ReadPlanner(
        table, schema, new ReadPlanner.Wish(snapshotId, Expressions.alwaysTrue(), values, wanted));
  }

  private CompactionPlan.Choice choose(
      ReadPlanner planner, List<Serializable> partition, List<DataFile> files) {
    BucketLayout layout = layout(planner.sections(files), files);
    Optional<Compaction> compaction =
        CompactionRule.first(layout, policy).flatMap(pick -> compaction(partition, pick, files));
    return new CompactionPlan.Choice(partition, layout, compaction);
  }

  private BucketLayout layout(List<PlannedSection> sections, List<DataFile> files) {
    Map<String, Integer> numbers = new HashMap<>();
    for (int number = 0; number < sections.size(); number++) {
      for (PlannedFile file : sections.get(number).files().toList()) {
        numbers.put(file.file().location(), number);
      }
    }
    Map<Long, List<DataFile>> byAge = new TreeMap<>();
    files.forEach(
        file ->
            byAge.computeIfAbsent(file.dataSequenceNumber(), age -> new ArrayList<>()).add(file));
    List<Run> runs = new ArrayList<>();
    byAge.forEach(
        (age, ofAge) ->
            runs.add(
                new Run(
                    age,
                    commitTime(age),
                    ofAge.stream().anyMatch(this::hasTombstones),
                    ofAge.stream()
                        .map(
                            file ->
                                new File(
                                    file.location(),
                                    file.fileSizeInBytes(),
                                    file.recordCount(),
                                    numbers.get(file.location())))
                        .toList())));
    return BucketLayout.of(runs, now);
  }

  /** Of an expired snapshot it is only known that it was before those that are left. */
  private Instant commitTime(long age) {
    Instant known = commitTimes.get(age);
    return known != null
        ? known
        : commitTimes.values().stream().min(Comparator.naturalOrder()).orElse(now);
  }

  private boolean hasTombstones(DataFile file) {
    return FileFacts.presence(file, schema.deleted()) != Presence.NEVER;
  }

  /** Empty where all of the picked files would come out as they went in. */
  private Optional<Compaction> compaction(
      List<Serializable> partition, Pick pick, List<DataFile> files) {
    boolean drops = pick.dropsTombstones(policy);
    Set<Long> ages =
        pick.stretch().runs().stream().map(Run::age).collect(Collectors.toCollection(HashSet::new));
    Map<String, DataFile> picked =
        files.stream()
            .filter(file -> ages.contains(file.dataSequenceNumber()))
            .collect(Collectors.toMap(DataFile::location, file -> file));
    ReadPlanner planner =
        planner(drops ? MergeRules.Wanted.ROWS_AND_STAMPS : MergeRules.Wanted.HISTORY);
    List<BucketPlan> stretches = new ArrayList<>();
    List<DataFile> inputs = new ArrayList<>();
    List<PlannedSection> open = new ArrayList<>();
    for (PlannedSection section : planner.sections(List.copyOf(picked.values()))) {
      if (stays(section, drops)) {
        close(open, drops, partition, picked, stretches, inputs);
      } else {
        open.add(section);
      }
    }
    close(open, drops, partition, picked, stretches, inputs);
    return inputs.isEmpty()
        ? Optional.empty()
        : Optional.of(
            new Compaction(
                partition,
                inputs,
                stretches,
                ages.stream().max(Comparator.naturalOrder()).orElseThrow(),
                pick.reason().word(),
                pick.because(),
                drops));
  }

  private boolean stays(PlannedSection section, boolean drops) {
    List<PlannedFile> files = section.files().toList();
    return files.size() == 1
        && !policy.isSmallFile(files.get(0).file().bytes())
        && !(drops && files.get(0).facts().deleted() != Presence.NEVER);
  }

  /** Ends a stretch of neighbouring sections; one file alone is no merge. */
  private void close(
      List<PlannedSection> open,
      boolean drops,
      List<Serializable> partition,
      Map<String, DataFile> picked,
      List<BucketPlan> stretches,
      List<DataFile> inputs) {
    List<PlannedFile> files = open.stream().flatMap(PlannedSection::files).toList();
    boolean hasWork =
        files.size() > 1
            || (drops && files.stream().anyMatch(f -> f.facts().deleted() != Presence.NEVER));
    if (hasWork) {
      stretches.add(new BucketPlan(partition, open.stream().map(PlannedSection::plan).toList()));
      files.forEach(file -> inputs.add(picked.get(file.file().location())));
    }
    open.clear();
  }
}
