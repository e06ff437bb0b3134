package io.keylake.spark.changes;

import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.ChangePlan;
import java.util.function.Function;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.spark.sql.connector.read.InputPartition;
import org.apache.spark.sql.connector.read.PartitionReaderFactory;
import org.apache.spark.sql.connector.read.streaming.MicroBatchStream;
import org.apache.spark.sql.connector.read.streaming.Offset;
import org.apache.spark.sql.connector.read.streaming.ReadLimit;
import org.apache.spark.sql.connector.read.streaming.SupportsTriggerAvailableNow;
import org.jspecify.annotations.Nullable;

/**
 * A change feed that goes on: each batch has the changes of the commits since the batch before. Its
 * offset is a commit, so that a query which starts again goes on where its checkpoint says.
 */
final class ChangesStream implements MicroBatchStream, SupportsTriggerAvailableNow {
  private final Table table;
  private final @Nullable String branch;
  private final long after;
  private final int mostCommits;
  private final @Nullable ConsumerPosition position;
  private final Function<CommitRange, ChangePlan> plans;
  private final PartitionReaderFactory readers;
  private @Nullable Long lastOfAll;

  /**
   * @param after the commit at which a new query begins
   * @param mostCommits in one batch
   * @param position moved behind each batch; null for none
   * @param plans plans the changes of a range
   */
  ChangesStream(
      Table table,
      @Nullable String branch,
      long after,
      int mostCommits,
      @Nullable ConsumerPosition position,
      Function<CommitRange, ChangePlan> plans,
      PartitionReaderFactory readers) {
    this.table = table;
    this.branch = branch;
    this.after = after;
    this.mostCommits = mostCommits;
    this.position = position;
    this.plans = plans;
    this.readers = readers;
  }

  /** The snapshot id of a commit; its text is the number. */
  private static final class At extends Offset {
    private final long commit;

    At(long commit) {
      this.commit = commit;
    }

    static long of(Offset offset) {
      return Long.parseLong(offset.json());
    }

    @Override
    public String json() {
      return String.valueOf(commit);
    }
  }

  @Override
  public Offset initialOffset() {
    return new At(after);
  }

  @Override
  public Offset deserializeOffset(String json) {
    return new At(Long.parseLong(json));
  }

  /** Commits that come later are left to the next query. */
  @Override
  public void prepareForTriggerAvailableNow() {
    lastOfAll = head();
  }

  @Override
  public Offset latestOffset(Offset start, ReadLimit limit) {
    Long head = lastOfAll == null ? head() : lastOfAll;
    if (head == null) {
      return start;
    }
    Long end = CommitRange.of(table, At.of(start), head).endOfFirst(mostCommits);
    return end == null ? start : new At(end);
  }

  @Override
  public Offset latestOffset() {
    throw new UnsupportedOperationException("a batch is bounded: it has a start");
  }

  private @Nullable Long head() {
    table.refresh();
    Snapshot head = branch == null ? table.currentSnapshot() : table.snapshot(branch);
    return head == null ? null : head.snapshotId();
  }

  @Override
  public InputPartition[] planInputPartitions(Offset start, Offset end) {
    long until = At.of(end);
    if (until == CommitRange.BEGINNING) {
      return new InputPartition[0];
    }
    table.refresh();
    return ChangesScan.partitions(plans.apply(CommitRange.of(table, At.of(start), until)));
  }

  @Override
  public PartitionReaderFactory createReaderFactory() {
    return readers;
  }

  @Override
  public void commit(Offset end) {
    if (position != null) {
      position.moveTo(At.of(end));
    }
  }

  @Override
  public void stop() {}
}
