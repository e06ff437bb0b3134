package io.keylake.tables.commits;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.compaction.Compaction;
import io.keylake.tables.compaction.SettledBuckets;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.repair.Adoption;
import io.keylake.tables.repair.Undo;
import java.util.List;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.apache.iceberg.util.SnapshotUtil;

/** Makes the commits of one branch. */
public final class Commits {
  private final Table table;
  private final String branch;
  private final CommitLog log;

  /**
   * @param branch null for main
   */
  public Commits(Table table, String branch) {
    this.table = table;
    this.branch = branch == null ? SnapshotRef.MAIN_BRANCH : branch;
    this.log = new CommitLog(table, branch);
  }

  /** The commits that there are. */
  public CommitLog log() {
    return log;
  }

  /**
   * Adds files beside what is there.
   *
   * @return false, and nothing is added, when the branch has a commit with the idempotency key
   */
  public boolean append(List<DataFile> files, WriteSummary summary) {
    Ancestry ancestry =
        new Ancestry(summary.labels().idempotencyKey(), log.head(), log.head() == null);
    AppendFiles append = table.newAppend();
    files.forEach(append::appendFile);
    if (commit(append, summary, ancestry.wantsNone(), ancestry)) {
      return true;
    }
    table.refresh();
    return !ancestry.isRepeated() && append(files, summary);
  }

  /**
   * Puts files in the place of everything the filter selects, which must be whole partitions.
   *
   * @return false, and nothing is changed, when the branch has a commit with the idempotency key
   */
  public boolean overwrite(Expression filter, List<DataFile> files, WriteSummary summary) {
    Ancestry ancestry = new Ancestry(summary.labels().idempotencyKey(), log.head(), false);
    OverwriteFiles overwrite = table.newOverwrite().overwriteByRowFilter(filter);
    files.forEach(overwrite::addFile);
    Expression typed = Binder.bind(table.schema().asStruct(), filter, true); // dates as such
    overwrite.set(WriteSummary.REPLACES, ExpressionParser.toJson(typed));
    boolean replacesAll = filter.op() == Expression.Operation.TRUE;
    if (commit(overwrite, summary, replacesAll, ancestry)) {
      return true;
    }
    table.refresh();
    return !ancestry.isRepeated() && overwrite(filter, files, summary);
  }

  /**
   * Puts the files of a compaction in the place of its inputs. Commits that came meanwhile are no
   * hindrance: the new files keep their place before them.
   *
   * @return false, and nothing is changed, when an input is not there any more
   */
  public boolean replace(Compaction compaction, List<DataFile> files) {
    Snapshot head = log.head();
    RewriteFiles rewrite =
        table
            .newRewrite()
            .validateFromSnapshot(compaction.plannedAt())
            .dataSequenceNumber(compaction.age());
    compaction.inputs().forEach(rewrite::deleteFile);
    compaction.superseded().forEach(rewrite::deleteFile);
    files.forEach(rewrite::addFile);
    long rows = files.stream().mapToLong(DataFile::recordCount).sum();
    WriteSummary.compaction(
            compaction.rows(), compaction.reason(), rows, log.highestVersion().orElse(null))
        .forEach(rewrite::set);
    Settled.of(head).properties().forEach(rewrite::set);
    Watermarks.of(table, log.headId()).carryOn(rewrite);
    Ancestry ancestry = new Ancestry(null, head, false);
    rewrite.toBranch(branch);
    rewrite.validateWith(Lineage.validator(table, ancestry));
    if (isCommitted(rewrite)) {
      return true;
    }
    table.refresh();
    return ancestry.isBroken() && replace(compaction, files);
  }

  /**
   * Records which rows are superseded. Commits that came meanwhile are no hindrance, unless they
   * took away what supersedes; what they added is settled next time.
   *
   * @return false, and nothing is changed, when a settled file is not there any more
   */
  public boolean settle(SettledBuckets settled) {
    Snapshot head = log.head();
    boolean isStill = head != null && head.snapshotId() == settled.plannedAt();
    if (head == null
        || !SnapshotUtil.isAncestorOf(head.snapshotId(), settled.plannedAt(), table::snapshot)) {
      return false; // it was rolled back
    }
    RowDelta delta =
        table
            .newRowDelta()
            .validateFromSnapshot(settled.plannedAt())
            .validateDataFilesExist(settled.locations())
            .validateDeletedFiles();
    settled.added().forEach(delta::addDeletes);
    settled.replaced().forEach(delta::removeDeletes);
    WriteSummary.settled(
            settled.rows(),
            settled.state(),
            log.highestVersion().orElse(null),
            isStill && settled.isSafeForPlainReads())
        .forEach(delta::set);
    Watermarks.of(table, log.headId()).carryOn(delta);
    delta.toBranch(branch);
    delta.validateWith(
        Lineage.validator(
            table,
            ancestors ->
                (!isStill || ancestors.iterator().next().snapshotId() == settled.plannedAt())
                    && hasAllSince(settled.plannedAt(), ancestors)));
    if (isCommitted(delta)) {
      return true;
    }
    table.refresh();
    return isStill && log.headId() != settled.plannedAt() && settle(settled);
  }

  /** Whether no commit since then has taken files out. */
  private static boolean hasAllSince(long snapshotId, Iterable<Snapshot> newestFirst) {
    for (Snapshot each : newestFirst) {
      if (each.snapshotId() == snapshotId) {
        break;
      }
      if (WriteSummary.isUndo(each) || WriteSummary.isFileChange(each)) {
        return false;
      }
    }
    return true;
  }

  /** Whether a commit that only tidies up was made: it gives way to all others. */
  private static boolean isCommitted(SnapshotUpdate<?> update) {
    try {
      update.commit();
      return true;
    } catch (ValidationException | CommitFailedException e) {
      return false; // the next plan sees what the others left
    }
  }

  /**
   * Takes writes back, if nothing was committed since that was planned: what is merged anew is
   * younger than all that is there.
   *
   * @param files what was merged anew
   * @return false, and nothing is changed, when there was another commit
   */
  public boolean undo(Undo undo, List<DataFile> files) {
    log.head();
    RowDelta delta = table.newRowDelta();
    for (Undo.Bucket bucket : undo.buckets()) {
      bucket.removed().forEach(delta::removeRows);
      bucket.superseded().forEach(delta::removeDeletes);
    }
    files.forEach(delta::addRows);
    WriteSummary.undo(undo.undone().ids(), log.highestVersion().orElse(null)).forEach(delta::set);
    Watermarks.of(table, log.headId()).carryOn(delta);
    delta.toBranch(branch);
    delta.validateWith(
        Lineage.validator(
            table, ancestors -> ancestors.iterator().next().snapshotId() == undo.plannedAt()));
    return isCommitted(delta);
  }

  /**
   * Puts files with the rows of a foreign commit in the place of its own, if nothing was committed
   * since that was planned.
   *
   * @return false, and nothing is changed, when there was another commit
   */
  public boolean adopt(Adoption adoption, List<DataFile> files, WriteSummary summary) {
    RewriteFiles rewrite = table.newRewrite().validateFromSnapshot(adoption.plannedAt());
    adoption.files().forEach(task -> rewrite.deleteFile(task.file()));
    files.forEach(rewrite::addFile);
    summary.adoption(adoption.snapshotId(), adoption.isLast()).forEach(rewrite::set);
    Watermarks.of(table, log.headId()).carryOn(rewrite);
    rewrite.toBranch(branch);
    rewrite.validateWith(
        ancestors -> ancestors.iterator().next().snapshotId() == adoption.plannedAt());
    return isCommitted(rewrite);
  }

  /** Refuses a branch that holds what keylake did not make. */
  public void checkLineage() {
    Lineage.check(table, log.headId());
  }

  /**
   * Makes the branch stand at one of its commits again. Later ones can be read by their ids until
   * they expire.
   *
   * @return the commit that it stands at
   */
  public CommitLog.Entry rollback(long to) {
    Snapshot head = log.head();
    if (head == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s has no commit yet; there is nothing to roll back to".formatted(table.name()));
    }
    CommitRange.line(table, to, head.snapshotId()); // it has to be one of the branch
    Lineage.check(table, to);
    table.manageSnapshots().replaceBranch(branch, to).commit();
    table.refresh();
    return CommitLog.Entry.of(table.snapshot(to));
  }

  private boolean commit(
      SnapshotUpdate<?> update, WriteSummary summary, boolean plainReads, Ancestry ancestry) {
    prepare(update, summary, plainReads, ancestry);
    try {
      update.commit();
      return true;
    } catch (CommitFailedException e) {
      throw lost(e);
    } catch (ValidationException e) {
      if (ancestry.isBroken()) {
        return false;
      }
      throw e;
    }
  }

  /** Says in the update what the commit has to say, and on what it relies. */
  public void prepare(
      SnapshotUpdate<?> update, WriteSummary summary, boolean plainReads, Ancestry ancestry) {
    boolean onlyVisible =
        plainReads && !summary.verb().equals("delete") && !summary.verb().equals("apply_changes");
    summary.properties(onlyVisible).forEach(update::set);
    WriteLabels labels = summary.labels();
    Watermarks known = Watermarks.of(table, log.headId());
    (labels.watermark() == null ? known : known.with(labels.stream(), labels.watermark()))
        .carryOn(update);
    ancestry.settled().properties().forEach(update::set);
    update.toBranch(branch);
    update.validateWith(Lineage.validator(table, ancestry));
  }

  public KeylakeException lost(CommitFailedException e) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "the commit to branch '%s' of %s lost against other commits too often (%s); write again"
            .formatted(branch, table.name(), e.getMessage()));
  }
}
