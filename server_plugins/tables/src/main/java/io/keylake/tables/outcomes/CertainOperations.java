package io.keylake.tables.outcomes;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.OUTCOME_UNKNOWN;

import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Machine;
import io.keylake.tables.catalogs.ForwardedOperations;
import io.keylake.tables.outcomes.WantedState.Outcome;
import java.time.Duration;
import java.time.Instant;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.BaseTransaction;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.Transactions;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Commits of which it is certain what became of them. An answer of a catalog can be lost behind a
 * commit that was taken, and the client beneath repeats the request and is told of a conflict with
 * itself. So after every failure the table is asked, and not the answer believed:
 *
 * <pre>
 *   the table is as the commit wanted it      success
 *   it was so, and others have changed it     success
 *   it is not, and the catalog refused        the refusal
 *   it was not, and others have changed it    a conflict: this commit fits it no more
 *   it is as before                           the same commit is sent again: one of the two is taken at most
 *   it cannot be asked, or nothing helps      the outcome is told as unknown, and nothing is deleted
 * </pre>
 *
 * <p>Iceberg deletes what it has written for a commit only where it is refused or in conflict.
 */
@GuestApi
public final class CertainOperations extends ForwardedOperations {
  private static final Logger LOG = LoggerFactory.getLogger(CertainOperations.class);

  /** The time that a clock may be behind, as Iceberg permits it. */
  private static final Duration MOST_BEHIND = Duration.ofMinutes(1);

  private final String name;

  private CertainOperations(TableOperations table, String name) {
    super(table);
    this.name = name;
  }

  /** The same table, whose commits have certain outcomes. */
  public static Table of(Table table) {
    TableOperations operations = ((HasTableOperations) table).operations();
    if (operations instanceof CertainOperations) {
      return table;
    }
    TableOperations certain = of(operations, table.name());
    return table instanceof BaseTable base
        ? new BaseTable(certain, table.name(), base.reporter())
        : new BaseTable(certain, table.name());
  }

  /**
   * @param name of the table, for errors
   */
  public static TableOperations of(TableOperations operations, String name) {
    return operations instanceof CertainOperations
        ? operations
        : new CertainOperations(operations, name);
  }

  /**
   * The same creation of a table, with a certain outcome.
   *
   * @param creation has no update yet
   */
  public static Transaction ofNew(Transaction creation) {
    return creation instanceof BaseTransaction base
        ? Transactions.createTableTransaction(
            base.tableName(), of(base.underlyingOps(), base.tableName()), base.currentMetadata())
        : creation;
  }

  @Override
  public TableMetadata current() {
    TableMetadata base = table.current();
    checkClock(base);
    return base;
  }

  @Override
  public TableMetadata refresh() {
    TableMetadata base = table.refresh();
    checkClock(base);
    return base;
  }

  /**
   * Iceberg refuses to make a change that would be older than its base.
   *
   * @param base null where the change creates the table
   */
  private void checkClock(@Nullable TableMetadata base) {
    Instant now = Machine.here().now();
    if (base != null
        && Instant.ofEpochMilli(base.lastUpdatedMillis()).isAfter(now.plus(MOST_BEHIND))) {
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "the newest change of %s was made at %s, and this machine's clock says %s: Iceberg takes no change that is older than the one before; nothing was changed; set the clock that is wrong, or try again at that time"
              .formatted(name, Instant.ofEpochMilli(base.lastUpdatedMillis()), now));
    }
  }

  @Override
  public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    WantedState wanted = new WantedState(base, metadata);
    Patience patience = new Patience(metadata);
    RuntimeException failure = sent(base, metadata);
    while (failure != null) {
      TableMetadata now = asked(wanted, patience, failure);
      Outcome found = now == null ? Outcome.NOTHING : found(wanted, now);
      if (found == Outcome.EARLIER_ATTEMPT) {
        throw new CommitStands(name);
      }
      if (found == Outcome.ALL) {
        LOG.warn("A commit to {} was taken, though its catalog failed", name, failure);
        return;
      }
      if (isRefusal(failure)) {
        throw failure;
      }
      if (now != base) {
        throw new CommitFailedException(failure, "another commit came first");
      }
      if (!patience.pauses()) {
        throw unknown(wanted, failure);
      }
      failure = sent(base, metadata);
    }
  }

  /** Others may have changed what the commit was about, after it was taken. */
  private Outcome found(WantedState wanted, TableMetadata now) {
    Outcome found = wanted.in(now);
    String replaced = found == Outcome.NOTHING ? wanted.replacedFile(now) : null;
    if (replaced == null) {
      return found;
    }
    try {
      return wanted.in(TableMetadataParser.read(io().newInputFile(replaced)));
    } catch (RuntimeException e) {
      return found; // it was removed, or cannot be read now
    }
  }

  private @Nullable RuntimeException sent(@Nullable TableMetadata base, TableMetadata metadata) {
    try {
      table.commit(base, metadata);
      return null;
    } catch (RuntimeException e) {
      return e;
    }
  }

  /**
   * The metadata of the table now; it is asked until it answers, or patience ends. Null for a new
   * table that is not there.
   */
  private @Nullable TableMetadata asked(
      WantedState wanted, Patience patience, RuntimeException failure) {
    while (true) {
      try {
        return table.refresh();
      } catch (RuntimeException e) {
        if (wanted.base() == null && e instanceof NoSuchTableException) {
          return null;
        }
        if (!patience.pauses()) {
          failure.addSuppressed(e);
          throw unknown(wanted, failure);
        }
      }
    }
  }

  /** The catalog says that it has not taken the commit; 503 says it before or after. */
  private static boolean isRefusal(RuntimeException failure) {
    return (failure instanceof CleanableFailure
            && !(failure instanceof ServiceUnavailableException))
        || failure instanceof AlreadyExistsException;
  }

  private KeylakeException unknown(WantedState wanted, RuntimeException failure) {
    KeylakeException unknown =
        new KeylakeException(
            OUTCOME_UNKNOWN,
            "whether %s was changed is not known, because its catalog does not say it (%s); no file was deleted; %s before you do it again"
                .formatted(name, firstLine(failure), wanted.question()));
    unknown.initCause(failure);
    return unknown;
  }

  private static String firstLine(RuntimeException failure) {
    return failure.getMessage() == null
        ? failure.getClass().getSimpleName()
        : failure.getMessage().lines().findFirst().orElse("");
  }

  /** Iceberg deletes nothing after a failure that leaves the outcome open. */
  @Override
  public boolean requireStrictCleanup() {
    return true;
  }
}
