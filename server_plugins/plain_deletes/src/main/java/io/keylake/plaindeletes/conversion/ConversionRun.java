package io.keylake.plaindeletes.conversion;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.plaindeletes.index.PlannedFile;
import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.expressions.Expression;
import org.jspecify.annotations.Nullable;

/**
 * Turns the equality deletes of a plain table into positions, without writing a row again:
 *
 * <ol>
 *   <li>Plan; a job looks through the data files of some portions, reads the columns of their keys
 *       only, and writes the positions of deleted rows.
 *   <li>Commit them, together with the removal of the equality deletes that wait for no other data
 *       file; go on with the next portions.
 *   <li>Where another commit has taken a data file, or a deletion vector, away meanwhile, plan what
 *       is left again. Deletes that have come meanwhile are left to the next call.
 * </ol>
 */
public final class ConversionRun {
  /** Unless somebody says another number. */
  public static final int PORTIONS_PER_COMMIT = 32;

  private static final int MOST_LOST = 10;

  private final Table table;
  private final Expression where;
  private final int portionsPerCommit;
  private final Function<List<Conversion>, List<Converted>> job;
  private final Map<String, Long> converted = new HashMap<>(); // those whose deletes all went
  private Outcome outcome = Outcome.NOTHING;

  /**
   * @param where for data files that may have such rows
   * @param portionsPerCommit how much is lost when the server ends, or another commit comes first
   * @param job runs conversions, somewhere and in any order
   */
  public ConversionRun(
      Table table,
      Expression where,
      int portionsPerCommit,
      Function<List<Conversion>, List<Converted>> job) {
    this.table = table;
    this.where = where;
    this.portionsPerCommit = portionsPerCommit;
    this.job = job;
  }

  /**
   * The outcome of a run.
   *
   * @param portions of data files with the same deletes: partitions, as a rule
   * @param rows that positions delete now
   * @param dataFilesRemoved those of which no row was left
   * @param removed equality delete files
   * @param written files of positions, or deletion vectors
   * @param lost commits that others came before
   */
  public record Outcome(
      long portions,
      long dataFiles,
      long rows,
      long dataFilesRemoved,
      Amount removed,
      Amount written,
      long commits,
      long lost) {
    static final Outcome NOTHING = new Outcome(0, 0, 0, 0, Amount.NONE, Amount.NONE, 0, 0);

    private Outcome and(List<Portion> done, List<Converted> converted, List<DeleteFile> freed) {
      List<DeleteFile> added = converted.stream().flatMap(each -> each.added().stream()).toList();
      return new Outcome(
          portions + done.size(),
          dataFiles + done.stream().mapToLong(each -> each.files().size()).sum(),
          rows + converted.stream().mapToLong(Converted::rows).sum(),
          dataFilesRemoved + converted.stream().mapToLong(each -> each.emptied().size()).sum(),
          removed.and(Amount.of(freed)),
          written.and(Amount.of(added)),
          commits,
          lost);
    }

    private Outcome committed() {
      return new Outcome(
          portions, dataFiles, rows, dataFilesRemoved, removed, written, commits + 1, lost);
    }

    private Outcome lostOne() {
      return new Outcome(
          portions, dataFiles, rows, dataFilesRemoved, removed, written, commits, lost + 1);
    }
  }

  /** An amount of delete files. */
  public record Amount(long files, long bytes) {
    static final Amount NONE = new Amount(0, 0);

    static Amount of(List<DeleteFile> files) {
      return new Amount(files.size(), files.stream().mapToLong(Amount::bytes).sum());
    }

    /** A deletion vector is a part of its file. */
    private static long bytes(DeleteFile file) {
      Long part = file.contentSizeInBytes();
      return part == null ? file.fileSizeInBytes() : part;
    }

    Amount and(Amount other) {
      return new Amount(files + other.files, bytes + other.bytes);
    }
  }

  /** The work that there is; no data file is opened, so the rows are not known. */
  public Outcome plan() {
    Snapshot head = head();
    if (head == null) {
      return Outcome.NOTHING;
    }
    ConversionPlan plan = ConversionPlan.of(table, head, where, converted);
    WaitingDeletes waiting = new WaitingDeletes(plan);
    List<DeleteFile> freed = new ArrayList<>(waiting.waitingForNone());
    plan.portions().forEach(portion -> freed.addAll(waiting.freedBy(portion)));
    return Outcome.NOTHING.and(plan.portions(), List.of(), freed);
  }

  /** Converts what is there when it begins. */
  public Outcome run() {
    while (outcome.lost() < MOST_LOST) {
      Snapshot head = head();
      if (head == null || isCarriedOut(ConversionPlan.of(table, head, where, converted))) {
        return outcome;
      }
      outcome = outcome.lostOne();
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "apply_equality_deletes on %s lost against other commits %d times; %d commits were made and stay; call it again when fewer data files are rewritten"
            .formatted(table.name(), MOST_LOST, outcome.commits()));
  }

  private @Nullable Snapshot head() {
    try {
      table.refresh();
      return table.currentSnapshot();
    } catch (NoSuchTableException e) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s was dropped meanwhile; there is nothing left to do".formatted(table.name()));
    }
  }

  private boolean isCarriedOut(ConversionPlan plan) {
    WaitingDeletes waiting = new WaitingDeletes(plan);
    List<DeleteFile> freed = new ArrayList<>(waiting.waitingForNone());
    List<Portion> portions = plan.portions();
    int from = 0;
    do {
      int to = Math.min(from + portionsPerCommit, portions.size());
      List<Portion> some = portions.subList(from, to);
      some.forEach(portion -> freed.addAll(waiting.freedBy(portion)));
      List<Converted> done =
          some.isEmpty() ? List.of() : job.apply(some.stream().map(Conversion::of).toList());
      if (!isCommitted(plan.snapshot(), some, done, freed)) {
        return false;
      }
      freed.clear();
      from = to;
    } while (from < portions.size());
    return true;
  }

  private boolean isCommitted(
      Snapshot plannedAt, List<Portion> some, List<Converted> written, List<DeleteFile> freed) {
    if (!freed.isEmpty() || written.stream().anyMatch(each -> !each.changesNothing())) {
      if (!new ConversionCommit(table, plannedAt, written, List.copyOf(freed)).make()) {
        return false;
      }
      outcome = outcome.committed();
    }
    outcome = outcome.and(some, written, freed);
    some.stream()
        .flatMap(portion -> portion.files().stream())
        .map(PlannedFile::task)
        .filter(task -> task.deletes().stream().noneMatch(ConversionPlan::isByEquality))
        .forEach(task -> converted.put(task.file().location(), plannedAt.sequenceNumber()));
    return true;
  }
}
