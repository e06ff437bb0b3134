package io.keylake.tables.planning;

import io.keylake.merge.Presence;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.BitSet;
import java.util.Map;

/**
 * One file as the planner sees it.
 *
 * @param age its place in the order of commits
 * @param isSettled whether no other settled file has a live row of one of its keys
 * @param leaves what is known of the wanted version leaves and states, by field id
 * @param wantedBytes of the columns that the read may open
 * @param mayMatch which atoms of the read's {@link ValueFilter} some row of the file may satisfy
 */
public record PlannedFile(
    StoredFile file,
    long age,
    boolean isSettled,
    FileFacts facts,
    Map<Integer, Presence> leaves,
    long wantedBytes,
    BitSet mayMatch) {

  /** The presence of a wanted version leaf, or state. */
  Presence presence(int leaf) {
    return leaves.getOrDefault(leaf, Presence.PER_ROW);
  }

  /** The file with the rows that newer ones supersede, too. */
  PlannedFile withAllRows() {
    return new PlannedFile(
        file.withAllRows(), age, isSettled, facts, leaves, wantedBytes, mayMatch);
  }
}
