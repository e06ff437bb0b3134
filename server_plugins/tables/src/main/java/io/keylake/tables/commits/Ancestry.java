package io.keylake.tables.commits;

import io.keylake.tables.history.Settled;
import io.keylake.tables.history.WriteSummary;
import java.util.Iterator;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotAncestryValidator;

/**
 * What a commit relies on, checked against the commits that are there when it is made: others may
 * have come since it was prepared.
 */
public final class Ancestry implements SnapshotAncestryValidator {
  private final String idempotencyKey;
  private final Settled settled;
  private final boolean wantsNone;
  private boolean isRepeated;
  private boolean isBroken;

  /**
   * @param head how far it is settled is carried on
   * @param wantsNone the commit has to be the first
   */
  public Ancestry(String idempotencyKey, Snapshot head, boolean wantsNone) {
    this.idempotencyKey = idempotencyKey;
    this.settled = Settled.of(head);
    this.wantsNone = wantsNone;
  }

  @Override
  public boolean validate(Iterable<Snapshot> ancestors) {
    Iterator<Snapshot> newestFirst = ancestors.iterator();
    Snapshot parent = newestFirst.hasNext() ? newestFirst.next() : null;
    isBroken |= !Settled.of(parent).equals(settled); // it was settled, or rolled back
    for (Snapshot ancestor : ancestors) {
      isBroken |= wantsNone;
      String key = ancestor.summary().get(WriteSummary.IDEMPOTENCY_KEY);
      isRepeated |= idempotencyKey != null && idempotencyKey.equals(key);
    }
    isBroken |= isRepeated;
    return !isBroken;
  }

  public Settled settled() {
    return settled;
  }

  public boolean wantsNone() {
    return wantsNone;
  }

  /** Whether the branch has a commit with the idempotency key. */
  public boolean isRepeated() {
    return isRepeated;
  }

  public boolean isBroken() {
    return isBroken;
  }
}
