package io.keylake.tables.commits;

import static io.keylake.tables.commits.NotCommitted.Why.AGAIN;
import static io.keylake.tables.commits.NotCommitted.Why.REFUSED;

import io.keylake.tables.Backoff;
import io.keylake.tables.CommitCounter;
import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.commits.Attempt.ParentCheck;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.OlderDefinition;
import io.keylake.tables.history.WriteLabels;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ValidationException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes all commits of a table:
 *
 * <ol>
 *   <li>A {@link Change} is attempted, again where others come first, upon the table as it is then.
 *   <li>Files that were written for it are deleted only if it is certain that they are part of no
 *       commit: the attempt was never sent, or the catalog says that it did not take it.
 *   <li>Where the catalog does not say, the table is asked. A commit that stands is a success, and
 *       nothing that is done after it can make it look failed.
 * </ol>
 */
@GuestApi
public final class Commits {
  private static final Logger LOG = LoggerFactory.getLogger(Commits.class);
  private static final int MOST_ATTEMPTS = 30;
  private static final int MOST_ATTEMPTS_TOGETHER = 3;

  private final Table table;
  private final Runnable afterwards;

  public Commits(Table table) {
    this(table, () -> {});
  }

  /**
   * @param afterwards is run after each commit; its failures are logged
   */
  public Commits(Table table, Runnable afterwards) {
    this.table = table;
    this.afterwards = afterwards;
  }

  /**
   * The outcome of a change.
   *
   * @param isCommitted false where nothing was changed
   * @param snapshotId of the last part of the change; null where there is none
   * @param first the commit that had the idempotency key before; null for none
   */
  public record Result(
      boolean isCommitted, @Nullable Long snapshotId, CommitLog.@Nullable Entry first) {
    private static final Result STALE = new Result(false, null, null);

    /**
     * The commit that a client is told of: the one that was made now; else the one that was there
     * with the same idempotency key or offsets; else none, as of a change that has no parts.
     *
     * @param table as it is after the change
     */
    public Optional<CommitLog.Entry> commit(Table table) {
      Snapshot made = isCommitted && snapshotId != null ? table.snapshot(snapshotId) : null;
      return made == null ? Optional.ofNullable(first) : Optional.of(CommitLog.Entry.of(made));
    }

    /** The snapshot of the last part of a change that was committed, and has parts. */
    public long lastSnapshotId() {
      return Objects.requireNonNull(snapshotId, "each committed part has a snapshot");
    }

    /** A commit has the idempotency key already. */
    public boolean isRepeated() {
      return first != null;
    }
  }

  /**
   * The commit with an idempotency key, though its snapshot may have expired.
   *
   * @param head where the branch stands; null for nowhere
   */
  public static Optional<CommitLog.Entry> remembered(
      Table table, @Nullable Snapshot head, String key) {
    return IdempotencyKeys.first(table.properties(), Ledger.of(table, head), key);
  }

  /** Makes a change, or finds that it does not fit what is there any more, or was made before. */
  public Result make(Change change) {
    return change instanceof Append append
        ? AppendQueue.make(this, table, append)
        : makeAlone(change);
  }

  Result makeAlone(Change change) {
    Result result = null;
    for (int attempt = 1; result == null; attempt++) {
      result = attempted(change, attempt == MOST_ATTEMPTS);
      if (result == null) {
        CommitCounter.RETRIES.add(1);
        if (!Backoff.pause(attempt)) {
          throw interrupted(change);
        }
      }
    }
    if (result.isCommitted()) {
      CommitCounter.COMMITS.add(1);
      look();
    } else {
      quietly("after a commit that was not made", table::refresh);
      delete(change);
    }
    return result;
  }

  /** The error for a change of which nothing was committed; its files are deleted. */
  KeylakeException interrupted(Change change) {
    delete(change);
    return new KeylakeException(
        Kind.COMMIT_CONFLICT,
        "the commit to %s was interrupted before it was made; nothing was changed"
            .formatted(table.name()));
  }

  /** Looks at what was committed; it is called where a change is committed, by whomever. */
  void look() {
    quietly(
        "after the commit",
        () -> {
          table.refresh();
          afterwards.run();
        });
  }

  /**
   * Attempts some appends at once.
   *
   * @return the snapshot of each; empty if it is certain that nothing was committed
   */
  List<Long> together(List<Append> appends) {
    for (int attempt = 1; attempt < MOST_ATTEMPTS_TOGETHER; attempt++) {
      try {
        return togetherOnce(appends);
      } catch (NotCommitted e) { // another commit came first
        table.refresh();
      }
    }
    try {
      return togetherOnce(appends);
    } catch (NotCommitted e) {
      LOG.info("{}: {} appends are tried one by one", table.name(), appends.size(), e);
      return List.of();
    }
  }

  /** The same; ends with {@link NotCommitted} if another attempt may succeed. */
  private List<Long> togetherOnce(List<Append> appends) {
    Attempt attempt = null;
    try {
      attempt = new Attempt(table, WriteLabels.NONE, checks(appends.get(0)));
      for (Append append : appends) {
        append.addTo(attempt);
      }
      attempt.send();
    } catch (RuntimeException e) {
      if (attempt == null || !attempt.isSent() || e instanceof CleanableFailure) {
        discard(attempt);
        if (e instanceof NotCommitted again && again.why() == AGAIN) {
          throw again;
        }
        LOG.info("{}: {} appends are tried one by one", table.name(), appends.size(), e);
        return List.of();
      }
      if (!stands(attempt)) {
        CommitCounter.UNKNOWN.add(appends.size());
        throw e; // they may stand nevertheless
      }
      LOG.warn("A commit to {} stands, though its catalog failed", table.name(), e);
    }
    CommitCounter.COMMITS.add(appends.size());
    look();
    return attempt.snapshotIds();
  }

  /** The checks of the branch at each commit. */
  private List<ParentCheck> checks(Change change) {
    ParentCheck definition =
        parent ->
            OlderDefinition.check(
                table.name(),
                parent.metadata().schema(),
                parent.metadata().schemasById(),
                parent.snapshot());
    return change.takesForeign()
        ? List.of(definition)
        : List.of(definition, parent -> Lineage.check(table, parent.commits()));
  }

  /** The outcome of one attempt; null if another one may succeed. */
  private @Nullable Result attempted(Change change, boolean isLast) {
    Attempt attempt = null;
    try {
      attempt = new Attempt(table, change.labels(), checks(change));
      change.addTo(attempt);
      attempt.send();
      return new Result(true, attempt.snapshotId(), null);
    } catch (NotCommitted e) {
      discard(attempt);
      return notCommitted(change, e, isLast);
    } catch (RuntimeException e) {
      if (e instanceof IllegalArgumentException && attempt != null && change.isStale(attempt)) {
        discard(attempt);
        return Result.STALE;
      }
      if (attempt != null && attempt.isSent() && !(e instanceof CleanableFailure)) {
        if (stands(attempt)) {
          LOG.warn("A commit to {} stands, though its catalog failed", table.name(), e);
          return new Result(true, attempt.snapshotId(), null);
        }
        CommitCounter.UNKNOWN.add(1);
        throw e; // it may stand nevertheless
      }
      discard(attempt);
      boolean isFirstLoss =
          attempt != null && attempt.changesReferences() && e instanceof CommitFailedException;
      return isFirstLoss && !isLast ? null : failed(change, e);
    }
  }

  private void discard(@Nullable Attempt attempt) {
    if (attempt != null) {
      quietly("deleting the manifests of an attempt", attempt::discard);
    }
  }

  private @Nullable Result notCommitted(Change change, NotCommitted e, boolean isLast) {
    if (e.why() == AGAIN && !isLast) {
      return null;
    }
    if (e.why() == REFUSED) {
      delete(change);
      throw (KeylakeException) e.getCause();
    }
    return e.why() == AGAIN
        ? lost(change, "others always came first", e)
        : new Result(false, null, e.first());
  }

  /** Ends a change of which it is certain that nothing was committed. */
  private Result failed(Change change, RuntimeException e) {
    if (e instanceof CommitFailedException) {
      return lost(change, said(e), e);
    }
    if (e instanceof ValidationException && change.lost(said(e)) == null) {
      return Result.STALE;
    }
    delete(change);
    throw StoreFailure.writing(table.name(), e);
  }

  private static String said(RuntimeException e) {
    return String.valueOf(e.getMessage());
  }

  private Result lost(Change change, String why, RuntimeException e) {
    KeylakeException said = change.lost(why);
    if (said == null) {
      return Result.STALE;
    }
    CommitCounter.CONFLICTS.add(1);
    delete(change);
    said.initCause(e);
    throw said;
  }

  /** The commit is in the table, as far as that can be asked. */
  private boolean stands(Attempt attempt) {
    try {
      table.refresh();
      return attempt.snapshotId() != null && table.snapshot(attempt.snapshotId()) != null;
    } catch (RuntimeException e) {
      return false;
    }
  }

  private void delete(Change change) {
    for (String location : change.written()) {
      quietly("deleting " + location, () -> table.io().deleteFile(location));
    }
  }

  private void quietly(String what, Runnable run) {
    try {
      run.run();
    } catch (RuntimeException e) {
      LOG.warn("{}: {} failed", table.name(), what, e);
    }
  }
}
