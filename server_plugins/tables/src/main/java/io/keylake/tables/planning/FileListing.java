package io.keylake.tables.planning;

import io.keylake.tables.PromptExecutor;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.history.UndoneCommits;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.manifests.SnapshotFiles;
import io.keylake.tables.spec.ColumnNames;
import java.io.IOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.IncrementalAppendScan;
import org.apache.iceberg.Scan;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.SnapshotSummary;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Lists data files, as manifests have them.
 *
 * @param schema has the names that the filter uses
 * @param filter for files that may have such rows
 * @param statistics field ids of the columns whose statistics come along; null for all
 */
public record FileListing(
    Table table, Schema schema, Expression filter, @Nullable Set<Integer> statistics) {

  /** A listing of all files, with all of their statistics. */
  public static FileListing ofAll(Table table) {
    return new FileListing(table, table.schema(), Expressions.alwaysTrue(), null);
  }

  public FileListing withoutStatistics() {
    return new FileListing(table, schema, filter, Set.of());
  }

  /** All files of a snapshot. */
  public List<FileScanTask> at(long snapshotId) {
    Snapshot snapshot = table.snapshot(snapshotId);
    OlderDefinition.check(table, snapshot);
    return statistics == null
        ? byIceberg(snapshotId)
        : kept(snapshot, statistics).orElseGet(() -> byIceberg(snapshotId));
  }

  private Optional<List<FileScanTask>> kept(Snapshot snapshot, Set<Integer> columns) {
    try {
      return SnapshotFiles.of(table, snapshot, schema, filter, columns);
    } catch (RuntimeException e) {
      throw StoreFailure.listing(table.name(), e);
    }
  }

  /**
   * Iceberg looks up names of statistics in the columns that the table had then, and names in
   * filters, too, unless the snapshot is the head of main.
   */
  private List<FileScanTask> byIceberg(long snapshotId) {
    Schema then = SnapshotUtil.schemaFor(table, snapshotId);
    Snapshot head = table.currentSnapshot();
    boolean isHead = head != null && head.snapshotId() == snapshotId;
    return planned(table.newScan().useSnapshot(snapshotId), then, isHead ? table.schema() : then);
  }

  /**
   * The files that the writes of a range have left, as they were written: compactions do not count,
   * nor do undone commits, and what an overwrite of the range has replaced, or a commit of it has
   * taken out, is not there any more.
   */
  public List<FileScanTask> writtenIn(CommitRange range) {
    List<FileEffect> effects = effects(range);
    Set<Long> undone = UndoneCommits.in(range);
    long before = range.after() == null ? 0 : table.snapshot(range.after()).sequenceNumber();
    Set<Place> known = new HashSet<>();
    effects.forEach(effect -> known.addAll(Place.of(effect.added())));
    for (FileEffect effect : effects) {
      if (effect.takesOut() && !undone.contains(effect.commit().snapshotId())) {
        for (FileScanTask task : effect.removed()) {
          if (task.file().dataSequenceNumber() > before && !known.contains(Place.of(task))) {
            throw effect.takesOutMerged(task);
          }
        }
      }
    }
    return FileEffect.replayed(List.of(), effects, undone);
  }

  /** The files that writes of a range have touched, and at least those. */
  List<FileScanTask> touchedIn(CommitRange range) {
    return effects(range).stream()
        .flatMap(effect -> Stream.concat(effect.added().stream(), effect.removed().stream()))
        .toList();
  }

  /** The effect of each write of a range, oldest first. */
  public List<FileEffect> effects(CommitRange range) {
    Snapshot last = range.last();
    if (last == null) {
      return List.of();
    }
    Map<Long, List<FileScanTask>> appended =
        appended(range.after(), last).stream()
            .collect(Collectors.groupingBy(task -> task.file().dataSequenceNumber()));
    return range.writes().stream().map(commit -> effect(commit, appended)).toList();
  }

  private FileEffect effect(Snapshot commit, Map<Long, List<FileScanTask>> appended) {
    List<FileScanTask> added =
        commit.operation().equals(DataOperations.APPEND)
            ? appended.getOrDefault(commit.sequenceNumber(), List.of())
            : addedBy(commit);
    List<FileScanTask> removed =
        WriteSummary.isAdoption(commit)
            ? List.of()
            : removedBy(commit); // foreign files are no rows
    return new FileEffect(commit, added, removed, Emptied.by(table, commit, removed));
  }

  /** A file at its place in the order of commits: one that comes back has another place. */
  public record Place(String location, long order) {
    public static Place of(FileScanTask task) {
      return new Place(task.file().location(), task.file().dataSequenceNumber());
    }

    public static Set<Place> of(List<FileScanTask> tasks) {
      return tasks.stream().map(Place::of).collect(Collectors.toSet());
    }
  }

  private List<FileScanTask> appended(@Nullable Long after, Snapshot last) {
    IncrementalAppendScan scan = table.newIncrementalAppendScan().toSnapshot(last.snapshotId());
    return planned(
        after == null ? scan : scan.fromSnapshotExclusive(after), table.schema(), table.schema());
  }

  /**
   * The files that a commit has added, which bear its number; all else in its snapshot is older.
   */
  private List<FileScanTask> addedBy(Snapshot commit) {
    return commit.summary().containsKey(SnapshotSummary.ADDED_FILES_PROP)
        ? at(commit.snapshotId()).stream()
            .filter(task -> task.file().dataSequenceNumber() == commit.sequenceNumber())
            .toList()
        : List.of();
  }

  /** The files that a commit removed, as they were before. */
  private List<FileScanTask> removedBy(Snapshot commit) {
    if (commit.parentId() == null
        || !commit.summary().containsKey(SnapshotSummary.DELETED_FILES_PROP)) {
      return List.of();
    }
    Set<String> locations = new HashSet<>();
    SnapshotChanges.builderFor(table)
        .snapshot(commit)
        .build()
        .removedDataFiles()
        .forEach(file -> locations.add(file.location()));
    return at(commit.parentId()).stream()
        .filter(task -> locations.contains(task.file().location()))
        .toList();
  }

  /**
   * @param named has the names of the statistics
   * @param filtered has the names of the filter
   */
  private <S extends Scan<S, FileScanTask, ?>> List<FileScanTask> planned(
      S scan, Schema named, Schema filtered) {
    S chosen = scan.filter(new ColumnNames(schema, filtered).translated(filter)).ignoreResiduals();
    S wanted =
        statistics == null
            ? chosen.includeColumnStats()
            : chosen.includeColumnStats(
                statistics.stream()
                    .map(named::findColumnName)
                    .filter(Objects::nonNull) // no file had it then
                    .toList());
    try (CloseableIterable<FileScanTask> tasks =
        wanted.planWith(new PromptExecutor()).planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    } catch (IOException | RuntimeException e) {
      throw StoreFailure.listing(table.name(), e);
    }
  }
}
