package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.CopiedFiles;
import io.keylake.tables.commits.Ledger;
import io.keylake.tables.commits.NumberSet;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.WholeFiles;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Predicate;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotUpdate;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.apache.iceberg.expressions.Expressions;
import org.jspecify.annotations.Nullable;

/**
 * Writes of one branch that are made again on another, commit by commit, with the files that they
 * have written. No file is opened: versions say what is newer. What the other branch has already is
 * left out, as its {@link Ledger}, the idempotency keys of its commits and, for files, its
 * manifests say it.
 *
 * @param copies oldest first
 */
record CopiedCommits(Table table, List<Copy> copies) {
  /**
   * One commit.
   *
   * @param sameAs the commits that have made the same writes
   * @param replaces what an overwrite has put its files in the place of; null for all others
   * @param files that it has written
   * @param where the part of it, in SQL; null for all
   */
  record Copy(
      Snapshot commit,
      NumberSet sameAs,
      @Nullable Expression replaces,
      List<DataFile> files,
      @Nullable String where) {
    Copy {
      files = List.copyOf(files);
    }

    private Copy withFiles(Predicate<DataFile> wanted) {
      return new Copy(commit, sameAs, replaces, files.stream().filter(wanted).toList(), where);
    }

    private Copy replacing(Expression less) {
      return new Copy(commit, sameAs, less, files, where);
    }

    /** Nothing of the commit is left to be made again. */
    boolean isEmpty() {
      return replaces == null && files.isEmpty();
    }
  }

  CopiedCommits {
    copies = List.copyOf(copies);
  }

  /**
   * The writes of a range: without those that are undone within it, and what tidies up.
   *
   * @param target where the branch they come to stands; null for nowhere
   */
  static CopiedCommits of(Table table, CommitRange range, @Nullable Snapshot target) {
    Set<Long> undone = new HashSet<>();
    range.commits().forEach(commit -> undone.addAll(WriteSummary.undone(commit)));
    Set<Long> inside = new HashSet<>();
    range.commits().forEach(commit -> inside.add(commit.snapshotId()));
    List<Snapshot> wanted = new ArrayList<>();
    for (Snapshot commit : range.writes()) {
      boolean isUndo = WriteSummary.isUndo(commit);
      if (isUndo && !inside.containsAll(WriteSummary.undone(commit))) {
        throw unsupported(commit, "takes back writes from before the range");
      }
      if (!isUndo && !undone.contains(commit.snapshotId())) {
        wanted.add(commit);
      }
    }
    return missing(table, wanted, target);
  }

  /**
   * The copies of what a branch has not of some commits.
   *
   * @param target where it stands; null for nowhere
   */
  static CopiedCommits missing(Table table, List<Snapshot> commits, @Nullable Snapshot target) {
    Ledger ledger = Ledger.of(table, target);
    CopiedFiles copied = CopiedFiles.on(table, ledger);
    Set<String> there = Parent.files(table, target);
    List<Copy> copies = new ArrayList<>();
    for (Snapshot commit : commits) {
      NumberSet sameAs = Ledger.sameAs(table, commit);
      if (!ledger.has(sameAs) && !Parent.hasKeyOf(commit, table, target)) {
        Copy whole = whole(table, commit, sameAs);
        Copy left = without(whole, table, ledger, copied, there);
        boolean isOnlySaid = whole.isEmpty() && commit.summary().containsKey(WriteSummary.VERB);
        if (!left.isEmpty() && ledger.isUnknown(sameAs)) {
          throw unknown(table, commit);
        }
        if (!left.isEmpty() || isOnlySaid) {
          copies.add(left);
          ledger = ledger.and(sameAs);
          left.files().forEach(file -> there.add(file.location()));
        }
      }
    }
    return new CopiedCommits(table, copies);
  }

  private static Copy without(
      Copy copy, Table table, Ledger ledger, CopiedFiles copied, Set<String> there) {
    Copy left =
        copy.withFiles(
            file ->
                !there.contains(file.location())
                    && !copied.has(table, ledger, file.location(), copy.commit()));
    for (String json : copied.replacedBy(copy.sameAs())) {
      Expression before = ExpressionParser.fromJson(json, table.schema());
      left = left.replacing(Expressions.and(left.replaces(), Expressions.not(before)));
    }
    return left;
  }

  /** A commit as it was made. */
  private static Copy whole(Table table, Snapshot commit, NumberSet sameAs) {
    String replaces = commit.summary().get(WriteSummary.REPLACES);
    boolean adds =
        commit.operation().equals(DataOperations.APPEND) || WriteSummary.isAdoption(commit);
    if (replaces == null && !adds) {
      throw unsupported(commit, "takes files away and does not say what it replaces");
    }
    return new Copy(
        commit,
        sameAs,
        replaces == null
            ? null
            : ExpressionParser.fromJson(replaces, WriteSummary.schema(table, commit)),
        CommittedFiles.of(table, commit),
        null);
  }

  private static KeylakeException unsupported(Snapshot commit, String why) {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d (%s) %s, and cannot be made again on another branch; write its rows there"
            .formatted(commit.snapshotId(), commit.summary().get(WriteSummary.VERB), why));
  }

  private static KeylakeException unknown(Table table, Snapshot commit) {
    return new KeylakeException(
        SNAPSHOT_EXPIRED,
        "it cannot be told whether the branch of %s has the writes of commit %d: the commits that said so have expired; write its rows there instead"
            .formatted(table.name(), commit.snapshotId()));
  }

  long files() {
    return copies.stream().mapToLong(copy -> copy.files().size()).sum();
  }

  long rows() {
    return copies.stream()
        .flatMap(copy -> copy.files().stream())
        .mapToLong(DataFile::recordCount)
        .sum();
  }

  /**
   * Makes them parts of an attempt.
   *
   * @param target the branch they come to
   * @param check what is required before the first of them is made
   */
  void addTo(Attempt attempt, String target, Consumer<Parent> check) {
    boolean isFirst = true;
    for (Copy copy : copies) {
      SnapshotUpdate<?> update = update(attempt, copy);
      boolean looks = isFirst;
      attempt.commit(
          target,
          update,
          parent -> {
            if (looks) {
              check.accept(parent);
            }
            boolean isNew =
                !parent.ledger().has(copy.sameAs())
                    && !parent.hasKeyOf(copy.commit())
                    && (!looks || isMissing(parent));
            if (!isNew || !parent.has(copy.commit().snapshotId())) {
              throw Attempt.stale();
            }
            return said(copy, parent);
          });
      isFirst = false;
    }
  }

  private static SnapshotUpdate<?> update(Attempt attempt, Copy copy) {
    if (copy.replaces() == null) {
      AppendFiles append = attempt.transaction().newFastAppend();
      copy.files().forEach(append::appendFile);
      return append;
    }
    OverwriteFiles overwrite =
        attempt.transaction().newOverwrite().overwriteByRowFilter(copy.replaces());
    copy.files().forEach(overwrite::addFile);
    return overwrite;
  }

  /** The branch has none of the files. */
  private boolean isMissing(Parent parent) {
    Set<String> files = new HashSet<>();
    copies.forEach(copy -> copy.files().forEach(file -> files.add(file.location())));
    return files.isEmpty() || Collections.disjoint(parent.files(), files);
  }

  private CommitSummary said(Copy copy, Parent parent) {
    Map<String, String> summary =
        new LinkedHashMap<>(WriteSummary.copied(copy.commit(), copy.where()));
    summary.putAll(parent.settled().properties());
    String replaces = copy.replaces() == null ? null : Overwrite.json(table, copy.replaces());
    if (replaces != null) {
      summary.put(WriteSummary.REPLACES, replaces); // what is left of it, and with today's columns
    }
    if (copy.where() == null) {
      return CommitSummary.of(summary).sameAs(copy.sameAs());
    }
    Set<String> locations = new HashSet<>();
    copy.files().forEach(file -> locations.add(file.location()));
    return CommitSummary.of(summary)
        .copying(List.of(new CommitSummary.Copied(copy.sameAs(), locations, replaces, false)));
  }

  /** All, but of each commit only files that a condition selects whole. */
  Selection where(Expression condition, @Nullable String sql) {
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
      Copy part = new Copy(copy.commit(), copy.sameAs(), replaces, inside, sql);
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
