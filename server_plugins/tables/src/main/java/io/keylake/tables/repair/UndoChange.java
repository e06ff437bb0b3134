package io.keylake.tables.repair;

import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.RowDelta;
import org.jspecify.annotations.Nullable;

/**
 * Takes writes back, if nothing was committed since that was planned: what is merged anew is
 * younger than all that is there.
 *
 * @param branch null for main
 * @param files what was merged anew
 */
public record UndoChange(@Nullable String branch, Undo undo, List<DataFile> files)
    implements Change {
  public UndoChange {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    RowDelta delta = attempt.transaction().newRowDelta();
    for (Undo.Bucket bucket : undo.buckets()) {
      bucket.removed().forEach(delta::removeRows);
      bucket.superseded().forEach(delta::removeDeletes);
    }
    files.forEach(delta::addRows);
    List<Long> undone = undo.undone().ids();
    attempt.commit(
        branch,
        delta,
        parent -> {
          if (!parent.is(undo.plannedAt())) {
            throw Attempt.stale();
          }
          return CommitSummary.of(WriteSummary.undo(undone, parent.highestVersion()))
              .undoing(undone);
        });
  }

  @Override
  public List<String> written() {
    return files.stream().map(DataFile::location).toList();
  }
}
