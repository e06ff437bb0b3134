package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import java.time.Duration;
import java.util.UUID;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * A branch for rows that are written before a transaction over several tables shows them. One whose
 * server has died is forgotten after a day, with what only it has.
 */
public record TransactionBranch(String name) implements Change {
  private static final String PREFIX = "keylake-transaction-";
  private static final Duration KEPT = Duration.ofDays(1);

  /** A branch that no other transaction has. */
  public static TransactionBranch unused() {
    return new TransactionBranch(PREFIX + UUID.randomUUID());
  }

  @Override
  public void addTo(Attempt attempt) {
    attempt.references().createBranch(name).setMaxRefAgeMs(name, KEPT.toMillis()).commit();
  }

  /**
   * The table with main where the branch is, and without the branch.
   *
   * @throws CommitFailedException where main has commits that the branch does not have
   */
  public TableMetadata shown(TableMetadata table) {
    SnapshotRef branch = table.ref(name);
    SnapshotRef main = table.ref(SnapshotRef.MAIN_BRANCH);
    if (branch == null || !isBelow(table, branch, main)) {
      throw new CommitFailedException("another commit to %s came first", table.location());
    }
    return TableMetadata.buildFrom(table)
        .setBranchSnapshot(branch.snapshotId(), SnapshotRef.MAIN_BRANCH)
        .removeRef(name)
        .build();
  }

  private static boolean isBelow(
      TableMetadata table, SnapshotRef branch, @Nullable SnapshotRef main) {
    return main == null
        || SnapshotUtil.isAncestorOf(branch.snapshotId(), main.snapshotId(), table::snapshot);
  }

  @Override
  public KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "a branch for a transaction lost against other commits (%s); commit again".formatted(why));
  }
}
