package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.RewriteFiles;

/**
 * Puts files with the rows of a foreign commit in the place of its own, if nothing was committed
 * since that was planned.
 */
public record AdoptionChange(Adoption adoption, List<DataFile> files, WriteSummary summary)
    implements Change {
  public AdoptionChange {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    if (!attempt.parent(adoption.branch()).is(adoption.plannedAt())) {
      throw Attempt.stale();
    }
    RewriteFiles rewrite =
        attempt.transaction().newRewrite().validateFromSnapshot(adoption.plannedAt());
    adoption.files().forEach(task -> rewrite.deleteFile(task.file()));
    files.forEach(rewrite::addFile);
    attempt.commit(
        adoption.branch(),
        rewrite,
        parent -> {
          if (!parent.is(adoption.plannedAt())) {
            throw Attempt.stale();
          }
          return CommitSummary.of(summary.adoption(adoption.snapshotId(), adoption.isLast()));
        });
  }

  @Override
  public List<String> written() {
    return files.stream().map(DataFile::location).toList();
  }

  @Override
  public boolean takesForeign() {
    return true;
  }

  /** The refusal of an adoption that other commits came before. */
  public KeylakeException lost() {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "adopting commit %d of %s lost against another commit; adopt it again"
            .formatted(adoption.snapshotId(), adoption.table().name()));
  }
}
