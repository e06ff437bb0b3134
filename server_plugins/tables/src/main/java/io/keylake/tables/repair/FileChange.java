package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.MergeRules.Wanted;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Ledger;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.lateness.FileMark;
import io.keylake.tables.lateness.FileOrder;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.planning.FileFacts;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.planning.KeyBound;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * Takes whole files out of a branch, or adds ones that are known already. No data file is opened or
 * written:
 *
 * <ol>
 *   <li>What is taken out is as if it had never been written. So all that is recorded of superseded
 *       rows in its buckets is taken back with it: what superseded them may be gone.
 *   <li>What is added counts as the newest commit of its branch, and is an append like any other.
 *   <li>A move does both at once: all of it or nothing.
 * </ol>
 *
 * @param branch null for main
 * @param plannedAt where the branch stood; null for a table without a commit
 * @param chosen the files that it is about
 * @param superseded what says which rows are superseded, in the buckets of what is taken out
 * @param addition what is added; null for a drop
 */
public record FileChange(
    Table table,
    @Nullable String branch,
    @Nullable Long plannedAt,
    String verb,
    List<FileScanTask> chosen,
    List<DeleteFile> superseded,
    @Nullable Addition addition)
    implements Change {

  /**
   * Files that a branch gets.
   *
   * @param branch null for main
   * @param plannedAt where it stood; null where it has no commit
   * @param source the snapshot whose files they are
   */
  private record Addition(
      @Nullable String branch, @Nullable Long plannedAt, long source, List<DataFile> files) {
    Addition {
      files = List.copyOf(files);
    }
  }

  public FileChange {
    chosen = List.copyOf(chosen);
    superseded = List.copyOf(superseded);
  }

  /**
   * Plans to take files out.
   *
   * @param locations of files that the branch has; others do not count
   */
  public static FileChange drop(Table table, @Nullable String branch, Set<String> locations) {
    return taking(table, branch, locations, WriteSummary.DROP_FILES, null);
  }

  /**
   * Plans to take files out and to add them to another branch. Those that it has already stay there
   * as they are.
   *
   * @param to a branch that is there; null for main
   */
  public static FileChange move(
      Table table, @Nullable String branch, Set<String> locations, @Nullable String to) {
    if (name(branch).equals(name(to))) {
      throw new KeylakeException(
          DEFINITION,
          "the files of %s are on branch '%s' already; name another branch to move them to; nothing was changed"
              .formatted(table.name(), name(to)));
    }
    Long head = new CommitLog(table, to).headId();
    SnapshotRef ref = table.refs().get(name(to));
    if (ref != null && ref.isTag()) {
      throw new KeylakeException(
          NOT_FOUND,
          "'%s' of %s is a tag, which cannot change; name a branch; nothing was changed"
              .formatted(to, table.name()));
    }
    List<FileScanTask> present = head == null ? List.of() : files(table, head);
    Set<String> there = locations(present);
    Long from = new CommitLog(table, branch).headId();
    List<DataFile> added =
        (from == null ? List.<FileScanTask>of() : files(table, from))
            .stream()
                .map(FileScanTask::file)
                .filter(file -> locations.contains(file.location()))
                .filter(file -> !there.contains(file.location()))
                .toList();
    checkOrder(table, present, added);
    Addition addition = from == null ? null : new Addition(to, head, from, added);
    return taking(table, branch, locations, WriteSummary.MOVE_FILES, addition);
  }

  /**
   * Plans to add files again that the branch has not any more.
   *
   * @param locations of files of a snapshot; those that the branch has do not count
   * @param at the snapshot
   */
  public static FileChange restore(
      Table table, @Nullable String branch, Set<String> locations, long at) {
    CommitRange.of(table, at, at); // it has to be there
    Lineage.check(table, at);
    Long head = new CommitLog(table, branch).headId();
    List<FileScanTask> present = head == null ? List.of() : files(table, head);
    Set<String> there = locations(present);
    List<FileScanTask> chosen =
        files(table, at).stream()
            .filter(task -> locations.contains(task.file().location()))
            .filter(task -> !there.contains(task.file().location()))
            .toList();
    List<DataFile> added = chosen.stream().map(FileScanTask::file).toList();
    checkOrder(table, present, added);
    return new FileChange(
        table,
        branch,
        head,
        WriteSummary.RESTORE_FILES,
        chosen,
        List.of(),
        new Addition(branch, head, at, added));
  }

  /**
   * Refuses merged rows that would count as older than late rows which the branch has: what is
   * added counts as the newest commit, but the name of such a file says that it is older.
   */
  private static void checkOrder(Table table, List<FileScanTask> there, List<DataFile> added) {
    List<DataFile> late = there.stream().map(FileScanTask::file).filter(FileMark::isLate).toList();
    for (DataFile file : added) {
      for (DataFile other : late) {
        if (other.specId() == file.specId()
            && other.partition().equals(file.partition())
            && FileOrder.wouldPrecede(file, other)) {
          throw new KeylakeException(
              UNSUPPORTED,
              "file %s of %s has merged rows of before the late rows in file %s, and would count as older than those; merge all with compact('full'), then add it; nothing was changed"
                  .formatted(file.location(), table.name(), other.location()));
        }
      }
    }
  }

  private static FileChange taking(
      Table table,
      @Nullable String branch,
      Set<String> locations,
      String verb,
      @Nullable Addition addition) {
    KeyedSchema schema = KeyedSchema.of(table);
    Long head = new CommitLog(table, branch).headId();
    Map<List<Serializable>, List<FileScanTask>> buckets =
        new ReadPlanner(table, schema, ReadSpec.ofAllColumns(schema, head, Wanted.HISTORY)).files();
    List<FileScanTask> chosen = new ArrayList<>();
    List<DeleteFile> superseded = new ArrayList<>();
    for (List<FileScanTask> files : buckets.values()) {
      List<FileScanTask> ofBucket =
          files.stream().filter(task -> locations.contains(task.file().location())).toList();
      if (!ofBucket.isEmpty()) {
        checkKnown(table, schema, ofBucket, files);
        chosen.addAll(ofBucket);
        files.forEach(task -> superseded.addAll(task.deletes()));
      }
    }
    return new FileChange(table, branch, head, verb, chosen, superseded, addition);
  }

  /**
   * A file that stays may have been merged without the rows that one of those superseded: then what
   * should be there without it is not there any more.
   */
  private static void checkKnown(
      Table table, KeyedSchema schema, List<FileScanTask> chosen, List<FileScanTask> files) {
    Set<String> gone = locations(chosen);
    for (FileScanTask stays : files) {
      if (Compaction.isPart(stays.file()) && !gone.contains(stays.file().location())) {
        for (FileScanTask goes : chosen) {
          if (!isYounger(goes.file(), stays.file()) && overlap(goes, stays, schema)) {
            throw new KeylakeException(
                UNSUPPORTED,
                "file %s of %s was merged without rows that file %s may have superseded, so they would be missing; undo the commits instead, or take both files; nothing was changed"
                    .formatted(stays.file().location(), table.name(), goes.file().location()));
          }
        }
      }
    }
  }

  /** A file holds nothing that was there when another was merged. */
  private static boolean isYounger(DataFile file, DataFile merged) {
    return Objects.equals(file.fileSequenceNumber(), file.dataSequenceNumber())
        && file.fileSequenceNumber() > merged.fileSequenceNumber();
  }

  private static boolean overlap(FileScanTask one, FileScanTask two, KeyedSchema schema) {
    Comparator<KeyBound> order = KeyBound.order(schema.sortKey());
    FileFacts first = FileFacts.of(one.file(), schema, List.of());
    FileFacts second = FileFacts.of(two.file(), schema, List.of());
    return order.compare(first.lower(), second.upper()) <= 0
        && order.compare(second.lower(), first.upper()) <= 0;
  }

  /** The files of a snapshot with all of their statistics, as a commit needs them. */
  private static List<FileScanTask> files(Table table, long snapshotId) {
    return FileListing.ofAll(table).at(snapshotId);
  }

  private static Set<String> locations(List<FileScanTask> tasks) {
    Set<String> locations = new HashSet<>();
    tasks.forEach(task -> locations.add(task.file().location()));
    return locations;
  }

  private static String name(@Nullable String branch) {
    return branch == null ? SnapshotRef.MAIN_BRANCH : branch;
  }

  public boolean isEmpty() {
    return chosen.isEmpty();
  }

  /** The extent of the files that it is about; there has to be one. */
  public Extent extent() {
    return Extent.of(chosen, KeyedSchema.of(table));
  }

  public long buckets() {
    return chosen.stream().map(task -> task.file().partition()).distinct().count();
  }

  /**
   * Carries it out.
   *
   * @return false, and nothing is changed, when there was another commit since it was planned
   */
  public boolean commit() {
    return new Commits(table).make(this).isCommitted();
  }

  @Override
  public void addTo(Attempt attempt) {
    if (!verb.equals(WriteSummary.RESTORE_FILES)) {
      takeOut(attempt);
    }
    if (addition != null && !addition.files().isEmpty()) {
      add(attempt, addition);
    }
  }

  private void takeOut(Attempt attempt) {
    RowDelta delta = attempt.transaction().newRowDelta();
    chosen.forEach(task -> delta.removeRows(task.file()));
    superseded.forEach(delta::removeDeletes);
    List<DataFile> gone = chosen.stream().map(FileScanTask::file).toList();
    attempt.commit(
        branch,
        delta,
        parent -> {
          check(parent, plannedAt);
          return CommitSummary.of(WriteSummary.takenOut(verb, parent.highestVersion()))
              .copying(copied(gone, true));
        });
  }

  private void add(Attempt attempt, Addition addition) {
    AppendFiles append = attempt.transaction().newAppend();
    addition.files().forEach(append::appendFile);
    Set<String> added = new HashSet<>();
    addition.files().forEach(file -> added.add(file.location()));
    List<FileScanTask> files =
        chosen.stream().filter(task -> added.contains(task.file().location())).toList();
    Extent extent = Extent.of(files, KeyedSchema.of(table));
    WriteSummary summary =
        new WriteSummary(
            verb,
            extent.rows(),
            extent.minVersion(),
            newestVersion(extent, addition.branch()),
            extent.columns(),
            WriteLabels.NONE);
    attempt.commit(
        addition.branch(),
        append,
        parent -> {
          check(parent, addition.plannedAt());
          boolean isThere = parent.has(addition.source());
          if (!isThere || !Collections.disjoint(parent.files(), added)) {
            throw Attempt.stale();
          }
          Map<String, String> said = new LinkedHashMap<>(summary.properties(false));
          said.putAll(parent.settled().properties());
          return CommitSummary.of(said).copying(copied(addition.files(), false));
        });
  }

  private static void check(Parent parent, @Nullable Long plannedAt) {
    if (!parent.is(plannedAt)) {
      throw Attempt.stale();
    }
  }

  /** The files, by the commits that have written them. */
  private List<CommitSummary.Copied> copied(List<DataFile> files, boolean isGone) {
    Map<Long, Set<String>> byWriter = new TreeMap<>();
    for (DataFile file : files) {
      byWriter
          .computeIfAbsent(file.fileSequenceNumber(), writer -> new HashSet<>())
          .add(file.location());
    }
    List<CommitSummary.Copied> copied = new ArrayList<>();
    byWriter.forEach(
        (writer, locations) ->
            copied.add(
                new CommitSummary.Copied(Ledger.sameAs(table, writer), locations, null, isGone)));
    return copied;
  }

  /**
   * The newest version of files that come to a branch: where versions are commit times, none may
   * come that is lower.
   */
  private @Nullable Long newestVersion(Extent extent, @Nullable String target) {
    boolean isOfFiles = KeyedSchema.of(table).spec().versions() != Versions.COMMIT;
    if (isOfFiles && extent.maxVersion() != null) {
      return extent.maxVersion();
    }
    return Stream.of(extent.maxVersion(), highestVersion(branch), highestVersion(target))
        .filter(Objects::nonNull)
        .max(Comparator.naturalOrder())
        .orElse(null);
  }

  private @Nullable Long highestVersion(@Nullable String of) {
    return new CommitLog(table, of).highestVersion().orElse(null);
  }
}
