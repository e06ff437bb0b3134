package io.keylake.tables.planning;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.merge.Section;
import io.keylake.merge.SortedRun;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.jspecify.annotations.Nullable;

/**
 * Plans what has to be read to tell how the merged rows differ between two commits:
 *
 * <ol>
 *   <li>A range of keys is touched where a commit of the range brought a file or took one away. An
 *       undo does both: it can bring rows back. Compactions touch nothing.
 *   <li>The files of a touched bucket, before and after, are cut into sections together; those
 *       without a touching file are left out.
 *   <li>What is left is planned as two reads in key order, side by side.
 * </ol>
 */
public final class ChangePlanner {
  private final Table table;
  private final KeyedSchema schema;
  private final Expression filter;

  /** A file, and in which of the three lists it stands. */
  private record ListedFile(FileScanTask task, FileFacts facts, Role role) {}

  private enum Role {
    BEFORE,
    AFTER,
    TOUCHING
  }

  /**
   * @param filter on key columns
   */
  public ChangePlanner(Table table, KeyedSchema schema, Expression filter) {
    this.table = table;
    this.schema = schema;
    this.filter = filter;
  }

  /** The net changes of a range. */
  public ChangePlan plan(CommitRange range) {
    return new ChangePlan(buckets(range));
  }

  /** The changes of each commit of a range. */
  public ChangePlan planApart(CommitRange range) {
    return new ChangePlan(range.apart().stream().flatMap(each -> buckets(each).stream()).toList());
  }

  private List<ChangePlan.Bucket> buckets(CommitRange range) {
    Snapshot last = range.last();
    Snapshot lastWrite = range.lastWrite();
    if (last == null || lastWrite == null) {
      return List.of();
    }
    int buckets = BucketCounts.of(table).in(range.snapshots(table)).first();
    ReadPlanner after = planner(last.snapshotId(), buckets);
    Map<List<Serializable>, List<FileScanTask>> touching = after.filesTouchedBy(range);
    if (touching.isEmpty()) {
      return List.of();
    }
    ReadPlanner before = planner(range.after(), buckets);
    Map<List<Serializable>, List<FileScanTask>> filesBefore = before.files();
    Map<List<Serializable>, List<FileScanTask>> filesAfter = after.files();
    List<ChangePlan.Bucket> planned = new ArrayList<>();
    touching.forEach(
        (partition, files) -> {
          List<ListedFile> found = new ArrayList<>();
          add(found, filesBefore.getOrDefault(partition, List.of()), Role.BEFORE);
          add(found, filesAfter.getOrDefault(partition, List.of()), Role.AFTER);
          add(found, files, Role.TOUCHING);
          planned.add(
              new ChangePlan.Bucket(
                  partition, lastWrite.snapshotId(), stretches(found, before, after)));
        });
    return planned;
  }

  private ReadPlanner planner(@Nullable Long snapshotId, int buckets) {
    return new ReadPlanner(
        table,
        schema,
        ReadSpec.ofAllColumns(schema, snapshotId, Wanted.ROWS).where(filter),
        buckets);
  }

  private void add(List<ListedFile> found, Collection<FileScanTask> tasks, Role role) {
    for (FileScanTask task : tasks) {
      found.add(new ListedFile(task, FileFacts.of(task.file(), schema, List.of()), role));
    }
  }

  private List<ChangePlan.Stretch> stretches(
      List<ListedFile> found, ReadPlanner before, ReadPlanner after) {
    List<ChangePlan.Stretch> stretches = new ArrayList<>();
    for (Section<ListedFile> section :
        Section.cut(
            found,
            file -> file.facts().lower(),
            file -> file.facts().upper(),
            file -> file.role().ordinal(),
            KeyBound.order(schema.sortKey()))) {
      List<ListedFile> files =
          section.runs().stream().map(SortedRun::files).flatMap(List::stream).toList();
      if (files.stream().anyMatch(file -> file.role() == Role.TOUCHING)) {
        stretches.add(
            new ChangePlan.Stretch(
                plans(before.sections(of(files, Role.BEFORE))),
                plans(after.sections(of(files, Role.AFTER))),
                of(files, Role.TOUCHING).stream().map(ChangePlanner::stored).toList()));
      }
    }
    return stretches;
  }

  private static List<FileScanTask> of(List<ListedFile> files, Role role) {
    Set<FileScanTask> tasks = new LinkedHashSet<>();
    files.stream().filter(file -> file.role() == role).forEach(file -> tasks.add(file.task()));
    return List.copyOf(tasks);
  }

  private static StoredFile stored(FileScanTask task) {
    DataFile file = task.file();
    return new StoredFile(file.location(), file.fileSizeInBytes(), file.recordCount(), List.of());
  }

  private static List<SectionPlan> plans(List<PlannedSection> sections) {
    return sections.stream().map(PlannedSection::plan).toList();
  }
}
