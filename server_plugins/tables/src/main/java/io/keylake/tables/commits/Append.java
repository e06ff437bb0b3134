package io.keylake.tables.commits;

import io.keylake.tables.history.WriteSummary;
import java.util.Collections;
import java.util.List;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.jspecify.annotations.Nullable;

/**
 * A write that adds files beside what is there.
 *
 * @param branch null for main
 */
public record Append(@Nullable String branch, List<DataFile> files, WriteSummary summary)
    implements RowWrite {
  public Append {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    addTo(attempt, Collections.singletonList(branch), (said, parent, number) -> said);
  }

  /** Says more of a part: the one with that number among all. */
  @FunctionalInterface
  public interface More {
    CommitSummary of(CommitSummary said, Parent parent, int number);
  }

  /** Adds the files to several branches, each of which may say more of it. */
  public void addTo(Attempt attempt, List<String> branches, More more) {
    VersionedWrite write = VersionedWrite.of(attempt, branches, files, summary);
    for (int i = 0; i < branches.size(); i++) {
      int number = i;
      AppendFiles append = attempt.append(branches.get(i));
      write.files().forEach(append::appendFile);
      attempt.commit(
          branches.get(i),
          append,
          parent -> {
            write.check(parent);
            boolean isFirst = parent.snapshot() == null;
            return more.of(CommitSummary.ofWrite(write.summary(), isFirst, parent), parent, number);
          });
    }
  }
}
