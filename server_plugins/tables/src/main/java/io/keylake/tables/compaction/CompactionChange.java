package io.keylake.tables.compaction;

import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.history.WriteSummary;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.RewriteFiles;
import org.jspecify.annotations.Nullable;

/**
 * Puts the files of a compaction in the place of its inputs. Commits that came meanwhile are no
 * hindrance: the new files keep their place before them. It gives way where an input is not there
 * any more.
 *
 * @param branch null for main
 */
public record CompactionChange(@Nullable String branch, Compaction compaction, List<DataFile> files)
    implements Change {
  public CompactionChange {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    RewriteFiles rewrite =
        attempt
            .transaction()
            .newRewrite()
            .validateFromSnapshot(compaction.plannedAt())
            .dataSequenceNumber(compaction.age());
    compaction.inputs().forEach(rewrite::deleteFile);
    compaction.superseded().forEach(rewrite::deleteFile);
    files.forEach(rewrite::addFile);
    long rows = files.stream().mapToLong(DataFile::recordCount).sum();
    attempt.commit(
        branch,
        rewrite,
        parent -> {
          Map<String, String> said =
              new LinkedHashMap<>(
                  WriteSummary.compaction(
                      compaction.rows(), compaction.reason(), rows, parent.highestVersion()));
          said.putAll(parent.settled().properties());
          return CommitSummary.of(said);
        });
  }

  @Override
  public List<String> written() {
    return files.stream().map(DataFile::location).toList();
  }
}
