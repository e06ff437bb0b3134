package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Ancestry;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.WholeFiles;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.relocated.com.google.common.util.concurrent.MoreExecutors;
import org.apache.iceberg.util.SnapshotUtil;

/**
 * Writes of one branch that are made again on another, commit by commit, with the files that they
 * have written. No file is opened: versions say what is newer.
 *
 * @param copies oldest first
 */
public record CopiedCommits(Table table, List<Copy> copies) {
  /** A pool would be waited for longer than it takes to write the one manifest of a commit. */
  private static final ExecutorService THIS_THREAD = MoreExecutors.newDirectExecutorService();

  /**
   * One commit.
   *
   * @param replaces what an overwrite has put its files in the place of; null for all others
   * @param files that it has written
   * @param where the part of it, in SQL; null for all
   */
  record Copy(Snapshot commit, Expression replaces, List<DataFile> files, String where) {
    Copy {
      files = List.copyOf(files);
    }

    Copy without(Set<String> locations) {
      return new Copy(
          commit,
          replaces,
          files.stream().filter(file -> !locations.contains(file.location())).toList(),
          where);
    }

    /** Whether nothing of the commit is left to be made again. */
    boolean isEmpty() {
      return replaces == null && files.isEmpty();
    }
  }

  public CopiedCommits {
    copies = List.copyOf(copies);
  }

  /**
   * The writes of a range: without those that are undone within it, and what tidies up.
   *
   * @param target where the branch they come to stands: what it has is left out; null for nowhere
   */
  static CopiedCommits of(Table table, CommitRange range, Snapshot target) {
    Set<Long> there = on(table, target == null ? null : target.snapshotId());
    Set<String> brought = brought(table, target);
    Set<Long> undone = new HashSet<>();
    range.commits().forEach(commit -> undone.addAll(WriteSummary.undone(commit)));
    Set<Long> inside = new HashSet<>();
    range.commits().forEach(commit -> inside.add(commit.snapshotId()));
    List<Copy> copies = new ArrayList<>();
    for (Snapshot commit : range.writes()) {
      boolean isUndo = WriteSummary.isUndo(commit);
      if (isUndo && !inside.containsAll(WriteSummary.undone(commit))) {
        throw unsupported(commit, "takes back writes from before the range");
      }
      if (!isUndo
          && !undone.contains(commit.snapshotId())
          && !there.contains(commit.snapshotId())) {
        copies.add(whole(table, commit).without(brought));
      }
    }
    return new CopiedCommits(table, copies);
  }

  /** Files that came to a branch by themselves, and not with the commit that has written them. */
  private static Set<String> brought(Table table, Snapshot target) {
    Set<String> locations = new HashSet<>();
    if (target != null) {
      for (Snapshot each : SnapshotUtil.ancestorsOf(target.snapshotId(), table::snapshot)) {
        if (WriteSummary.isFileChange(each)) {
          CommittedFiles.of(table, each).forEach(file -> locations.add(file.location()));
        }
      }
    }
    return locations;
  }

  /** A commit as it was made. */
  static Copy whole(Table table, Snapshot commit) {
    String replaces = commit.summary().get(WriteSummary.REPLACES);
    boolean adds =
        commit.operation().equals(DataOperations.APPEND) || WriteSummary.isAdoption(commit);
    if (replaces == null && !adds) {
      throw unsupported(commit, "takes files away and does not say what it replaces");
    }
    return new Copy(
        commit,
        replaces == null ? null : ExpressionParser.fromJson(replaces, table.schema()),
        CommittedFiles.of(table, commit),
        null);
  }

  private static KeylakeException unsupported(Snapshot commit, String why) {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d (%s) %s, and cannot be made again on another branch; write its rows there"
            .formatted(commit.snapshotId(), commit.summary().get(WriteSummary.VERB), why));
  }

  /** The snapshots that a branch has, and those whose writes were made again on it. */
  static Set<Long> on(Table table, Long head) {
    Set<Long> there = new HashSet<>();
    if (head != null) {
      for (Snapshot each : SnapshotUtil.ancestorsOf(head, table::snapshot)) {
        there.add(each.snapshotId());
        Map<String, String> summary = each.summary();
        String from = summary.get(WriteSummary.COPIED_FROM);
        if (from != null && !summary.containsKey(WriteSummary.COPIED_WHERE)) {
          there.add(Long.valueOf(from));
        }
      }
    }
    return there;
  }

  public long files() {
    return copies.stream().mapToLong(copy -> copy.files().size()).sum();
  }

  long rows() {
    return copies.stream()
        .flatMap(copy -> copy.files().stream())
        .mapToLong(DataFile::recordCount)
        .sum();
  }

  /**
   * Makes them part of a transaction.
   *
   * @param target the branch they come to
   * @param head where that stands; null for nowhere
   */
  void addTo(Transaction all, String target, Snapshot head) {
    for (Copy copy : copies) {
      SnapshotUpdate<?> update;
      if (copy.replaces() == null) {
        AppendFiles append = all.newFastAppend();
        copy.files().forEach(append::appendFile);
        update = append;
      } else {
        OverwriteFiles overwrite = all.newOverwrite().overwriteByRowFilter(copy.replaces());
        copy.files().forEach(overwrite::addFile);
        update = overwrite;
      }
      WriteSummary.copied(copy.commit(), copy.where()).forEach(update::set);
      Ancestry ancestry = new Ancestry(null, head, false);
      ancestry.settled().properties().forEach(update::set);
      long source = copy.commit().snapshotId();
      update.validateWith(
          Lineage.validator(
              table,
              ancestors ->
                  ancestry.validate(ancestors) && CommitRange.isStillThere(table, source)));
      update.scanManifestsWith(THIS_THREAD);
      update.toBranch(target);
      update.commit();
    }
  }

  /** All, but of each commit only files that a condition selects whole. */
  Selection where(Expression condition, String sql) {
    if (condition.op() == Expression.Operation.TRUE) {
      return new Selection(this, 0, 0);
    }
    WholeFiles whole = new WholeFiles(table, condition);
    List<Copy> parts = new ArrayList<>();
    long cutFiles = 0;
    long cutRows = 0;
    for (Copy copy : copies) {
      List<DataFile> inside = new ArrayList<>();
      for (DataFile file : copy.files()) {
        WholeFiles.Fit fit = whole.fit(file);
        if (fit == WholeFiles.Fit.INSIDE) {
          inside.add(file);
        } else if (fit == WholeFiles.Fit.PARTLY) {
          cutFiles++;
          cutRows += file.recordCount();
        }
      }
      Expression replaces =
          copy.replaces() == null ? null : Expressions.and(copy.replaces(), condition);
      Copy part = new Copy(copy.commit(), replaces, inside, sql);
      if (!part.isEmpty()) {
        parts.add(part);
      }
    }
    return new Selection(new CopiedCommits(table, parts), cutFiles, cutRows);
  }

  /**
   * A part of the writes.
   *
   * @param cutFiles files of which a condition selects some rows only, or may
   */
  record Selection(CopiedCommits commits, long cutFiles, long cutRows) {}
}
