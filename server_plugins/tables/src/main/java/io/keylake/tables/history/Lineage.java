package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.FOREIGN_COMMIT;

import io.keylake.tables.FileNames;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestContent;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Says whether keylake made all that a snapshot holds. Files of other engines carry no versions,
 * and their rewrites lose the order of commits, so nothing is read, written or merged beside them.
 *
 * <ol>
 *   <li>Commits are walked from the newest to the oldest. Every commit of keylake is made only
 *       where all before it are known, and says so: the walk ends there, as a rule at the first
 *       one.
 *   <li>A foreign commit that neither added nor removed a file changes no answer. An adopted one is
 *       taken in.
 *   <li>Commits may have expired where the walk has met none of keylake. Then the files tell: by
 *       their names and their sort order.
 * </ol>
 *
 * @param foreign commits that changed files and are not adopted, newest first
 * @param base the newest commit before all of these; null where there is none, or it has expired
 * @param isProven whether files need not be looked at
 * @param oldest the last commit that the walk has met; null where there is none
 */
public record Lineage(
    Table table,
    List<Snapshot> foreign,
    @Nullable Snapshot base,
    boolean isProven,
    @Nullable Snapshot oldest) {
  /** Said by commits of keylake: no foreign commit that changed files lies before them. */
  public static final String FOREIGN_COMMITS = "keylake.foreign_commits";

  public static final String NONE = "none";

  public Lineage {
    foreign = List.copyOf(foreign);
  }

  /** The lineage of a snapshot; null stands for a table without one. */
  public static Lineage of(Table table, @Nullable Long snapshotId) {
    return ofCommits(
        table,
        snapshotId == null ? List.of() : SnapshotUtil.ancestorsOf(snapshotId, table::snapshot));
  }

  static Lineage ofCommits(Table table, Iterable<Snapshot> newestFirst) {
    List<Snapshot> foreign = new ArrayList<>();
    Set<Long> adopted = new HashSet<>();
    Snapshot base = null;
    Snapshot oldest = null;
    boolean hasOwn = false;
    for (Snapshot each : newestFirst) {
      oldest = each;
      boolean isOwn = WriteSummary.isOwn(each);
      adopted.addAll(WriteSummary.adopted(each));
      if (!isOwn && !adopted.contains(each.snapshotId()) && changesFiles(table, each)) {
        foreign.add(each);
        base = null;
      } else if (base == null) {
        base = each;
      }
      hasOwn |= isOwn && !WriteSummary.isAdoption(each); // one that is not the last leaves others
      if (saysNone(each) || WriteSummary.replacesAll(each)) {
        return new Lineage(table, foreign, base, true, oldest);
      }
    }
    boolean isProven = hasOwn || oldest == null || WriteSummary.isFirst(oldest);
    return new Lineage(table, foreign, base, isProven, oldest);
  }

  private static boolean saysNone(Snapshot commit) {
    return NONE.equals(commit.summary().get(FOREIGN_COMMITS));
  }

  /** Manifests of a commit's own tell it; its summary need not be complete. */
  private static boolean changesFiles(Table table, Snapshot commit) {
    return commit.allManifests(table.io()).stream()
        .filter(manifest -> manifest.snapshotId() == commit.snapshotId())
        .anyMatch(manifest -> manifest.hasAddedFiles() || manifest.hasDeletedFiles());
  }

  /**
   * Snapshots from this time on must not expire, as a branch can be rolled back to them, or foreign
   * commits upon them adopted; {@link Long#MAX_VALUE} where keylake made all branches.
   */
  public static long fenceMillis(Table table) {
    return table.refs().values().stream()
        .filter(SnapshotRef::isBranch)
        .map(branch -> of(table, branch.snapshotId()))
        .filter(lineage -> !lineage.foreign.isEmpty())
        .flatMap(
            lineage -> Stream.concat(lineage.foreign.stream(), Stream.ofNullable(lineage.base)))
        .mapToLong(Snapshot::timestampMillis)
        .min()
        .orElse(Long.MAX_VALUE);
  }

  /** Refuses a snapshot that holds what keylake did not make. */
  public static void check(Table table, @Nullable Long snapshotId) {
    of(table, snapshotId).check();
  }

  /** The same at the moment of a commit, for those before it. */
  public static void check(Table table, Iterable<Snapshot> newestFirst) {
    ofCommits(table, newestFirst).check();
  }

  public boolean isKnown() {
    return foreign.isEmpty() && strangeFiles().isEmpty();
  }

  void check() {
    if (!foreign.isEmpty()) {
      throw refusal(foreign.get(0));
    }
    List<String> strange = strangeFiles();
    if (oldest != null && !strange.isEmpty()) {
      throw new KeylakeException(
          FOREIGN_COMMIT,
          "file %s of %s was not written by keylake, the commit that added it has expired, and its rows carry no versions; adopt it with commit %d (adopt_commit), or roll back to a commit before it"
              .formatted(strange.get(0), table.name(), oldest.snapshotId()));
    }
  }

  private KeylakeException refusal(Snapshot commit) {
    return new KeylakeException(
        FOREIGN_COMMIT,
        "commit %d of %s to %s (%s) was made by %s and not by keylake: it changed data files without versions, so that rows can no longer be merged; %s"
            .formatted(
                commit.snapshotId(),
                Instant.ofEpochMilli(commit.timestampMillis()),
                table.name(),
                commit.operation(),
                engine(commit.summary()),
                wayBack(commit)));
  }

  private String wayBack(Snapshot commit) {
    String adopt =
        foreign.stream().allMatch(each -> isAppend(table, each))
            ? "adopt its rows (adopt_commit with snapshot_id %d)".formatted(commit.snapshotId())
            : null;
    String rollBack =
        base == null ? null : "roll back to commit %d (rollback)".formatted(base.snapshotId());
    if (adopt == null && rollBack == null) {
      return "it can be neither rolled back nor adopted, because the commit before it has expired; create a new table and write the rows there";
    }
    return Stream.of(rollBack, adopt)
        .flatMap(Stream::ofNullable)
        .reduce((one, two) -> one + ", or " + two)
        .get();
  }

  /** The program that made a commit, as its summary has it. */
  private static String engine(Map<String, String> summary) {
    String name = summary.get("engine-name");
    if (name != null) {
      return (name + " " + summary.getOrDefault("engine-version", "")).strip();
    }
    return Optional.ofNullable(summary.get("iceberg-version")).orElse("another engine");
  }

  /** Files that keylake has not written, where commits cannot tell. */
  public List<String> strangeFiles() {
    if (isProven || oldest == null) {
      return List.of();
    }
    Integer keyOrder = KeyedSchema.of(table).keyOrder(table).orderId();
    List<String> strange = new ArrayList<>();
    for (FileScanTask task : files(oldest)) {
      if (!isOwn(task.file(), keyOrder)) {
        strange.add(task.file().location());
      }
      task.deletes().stream()
          .filter(deletes -> !Settled.isOurs(deletes))
          .map(DeleteFile::location)
          .forEach(strange::add);
    }
    return strange;
  }

  private List<FileScanTask> files(Snapshot snapshot) {
    try (CloseableIterable<FileScanTask> tasks =
        table.newScan().useSnapshot(snapshot.snapshotId()).planFiles()) {
      List<FileScanTask> all = new ArrayList<>();
      tasks.forEach(all::add);
      return all;
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static boolean isOwn(DataFile file, Integer keyOrder) {
    return keyOrder.equals(file.sortOrderId()) && FileNames.isData(FileNames.of(file.location()));
  }

  /** A commit only added data files. */
  public static boolean isAppend(Table table, Snapshot commit) {
    return commit.operation().equals(DataOperations.APPEND)
        && commit.allManifests(table.io()).stream()
            .filter(manifest -> manifest.snapshotId() == commit.snapshotId())
            .noneMatch(
                manifest ->
                    manifest.hasDeletedFiles()
                        || (manifest.content() == ManifestContent.DELETES
                            && manifest.hasAddedFiles()));
  }
}
