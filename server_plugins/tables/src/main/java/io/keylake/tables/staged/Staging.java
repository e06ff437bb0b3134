package io.keylake.tables.staged;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.TABLE_EXISTS;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommittedFiles;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.storage.EmptyFolders;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.Transactions;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.CleanableFailure;
import org.apache.iceberg.expressions.Expressions;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A table that is made, or put in the place of another, together with its rows:
 *
 * <ol>
 *   <li>Rows are written and committed to {@link #table} as to any other, but nobody sees it.
 *   <li>{@link #commit} shows it with all that it has, in one step.
 *   <li>A staged table that is not committed leaves nothing: {@link #discard} deletes its files,
 *       which nobody else can know.
 * </ol>
 */
public final class Staging {
  private static final Logger LOG = LoggerFactory.getLogger(Staging.class);

  private final Transaction transaction;
  private final @Nullable TableMetadata replaced;
  private final Table table;
  private final Supplier<Table> seen;
  private final Set<Long> older = new HashSet<>();
  private boolean takesRows;
  private boolean isSent;

  private Staging(Transaction transaction, @Nullable TableMetadata replaced, Supplier<Table> seen) {
    this.transaction = transaction;
    this.seen = seen;
    this.replaced = replaced;
    this.table = new BaseTable(operations(transaction.table()), transaction.table().name());
    table.snapshots().forEach(each -> older.add(each.snapshotId()));
  }

  /**
   * A table that is not there yet.
   *
   * @param creation creates it
   * @param seen loads what all see of it
   */
  public static Staging ofNew(Transaction creation, Supplier<Table> seen) {
    return new Staging(CertainOperations.ofNew(creation), null, seen);
  }

  /**
   * A staged table that takes the place of a table. Its snapshots stay; its rows do not.
   *
   * @param given properties that the statement names; the others stay as they are
   */
  public static Staging replacing(
      Table table, TableDefinition definition, Map<String, String> given) {
    table.refresh();
    TableOperations operations = operations(table);
    TableMetadata base = operations.current();
    TableMetadata start = new Replacement(table, base, definition, given).metadata();
    Transaction replacing =
        Transactions.replaceTableTransaction(
            table.name(),
            new UnchangedSince(CertainOperations.of(operations, table.name()), base, table.name()),
            start);
    return new Staging(replacing, base, () -> table);
  }

  /** A table is one that nobody sees yet. */
  public static boolean isOne(Table table) {
    return table instanceof BaseTable base
        && base.operations().current().metadataFileLocation() == null;
  }

  private static TableOperations operations(Table table) {
    return ((HasTableOperations) table).operations();
  }

  public Table table() {
    return table;
  }

  /** Says that the table is replaced by rows; without them it becomes empty. */
  public void takeRows() {
    takesRows = true;
  }

  /** Makes the table what all readers see. */
  public void commit() {
    if (replaced != null && !takesRows) {
      emptied();
    }
    if (replaced != null && written().isEmpty()) {
      return; // the rows were there already, by their idempotency key
    }
    checkMain();
    isSent = true;
    try {
      transaction.commitTransaction();
    } catch (AlreadyExistsException e) {
      isSent = false;
      KeylakeException exists =
          new KeylakeException(
              TABLE_EXISTS,
              "table %s was created by somebody else meanwhile; nothing was changed; take another name, or write to it"
                  .formatted(table.name()));
      exists.initCause(e);
      throw exists;
    } catch (UnchangedSince.Changed e) {
      isSent = false;
      throw new KeylakeException(
          COMMIT_CONFLICT,
          "table %s was changed while it was being replaced; it stays as it is now; run the statement again"
              .formatted(table.name()));
    } catch (RuntimeException e) {
      isSent = !(e instanceof CleanableFailure);
      if (!isSent || !stands()) {
        throw StoreFailure.writing(table.name(), e);
      }
      LOG.warn("{} is as it was to be, though its catalog failed", table.name(), e);
    }
  }

  /** Rows of another branch would leave those of main as they were. */
  private void checkMain() {
    List<Snapshot> written = written();
    if (!written.isEmpty() && !written.contains(table.currentSnapshot())) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the rows of a statement that makes or replaces table %s are those of main, and it names another branch; leave the branch out, or write to it afterwards"
              .formatted(table.name()));
    }
  }

  /** All readers see what was written, as far as that can be asked. */
  private boolean stands() {
    try {
      Table now = seen.get();
      now.refresh();
      return !written().isEmpty()
          && written().stream().allMatch(each -> now.snapshot(each.snapshotId()) != null);
    } catch (RuntimeException e) {
      return false;
    }
  }

  /** Leaves the rows out of a table that is replaced by one without rows; a commit says when. */
  private void emptied() {
    WriteSummary summary =
        new WriteSummary("overwrite", 0, null, null, List.of(), WriteLabels.NONE);
    new Commits(table).make(new Overwrite(null, Expressions.alwaysTrue(), List.of(), summary));
  }

  /** Deletes what was written for the table, if it is certain that it was not committed. */
  public void discard() {
    if (isSent) {
      return;
    }
    for (Snapshot each : written()) {
      quietly(() -> locations(each).forEach(file -> quietly(() -> table.io().deleteFile(file))));
    }
    if (replaced == null) {
      quietly(() -> EmptyFolders.delete(table.location()));
    }
  }

  private List<Snapshot> written() {
    return operations(table).current().snapshots().stream()
        .filter(each -> !older.contains(each.snapshotId()))
        .toList();
  }

  /** The files that a commit has written, those that name others last. */
  private List<String> locations(Snapshot snapshot) {
    List<String> locations = new ArrayList<>();
    CommittedFiles.of(table, snapshot).forEach(file -> locations.add(file.location()));
    for (ManifestFile manifest : snapshot.allManifests(table.io())) {
      if (snapshot.snapshotId() == manifest.snapshotId()) {
        locations.add(manifest.path());
      }
    }
    locations.add(snapshot.manifestListLocation());
    return locations;
  }

  private void quietly(Runnable run) {
    try {
      run.run();
    } catch (RuntimeException e) {
      LOG.warn("Files of {}, which was not committed, could not be deleted", table.name(), e);
    }
  }
}
