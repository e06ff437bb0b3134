package io.keylake.tables.commits;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import java.util.function.BiFunction;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;

/**
 * A write that adds files beside what is there.
 *
 * @param branch null for main
 */
public record Append(String branch, List<DataFile> files, WriteSummary summary) implements Change {
  public Append {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    addTo(attempt, branch, (said, parent) -> said);
  }

  /** Adds the files to a branch, which may say more of it. */
  public void addTo(Attempt attempt, String to, BiFunction<Said, Parent, Said> more) {
    AppendFiles append = attempt.transaction().newAppend();
    files.forEach(append::appendFile);
    attempt.commit(
        to,
        append,
        parent -> more.apply(Said.ofWrite(summary, parent.snapshot() == null, parent), parent));
  }

  @Override
  public List<String> written() {
    return files.stream().map(DataFile::location).toList();
  }

  @Override
  public String idempotencyKey() {
    return summary.labels().idempotencyKey();
  }

  @Override
  public KeylakeException lost(String why) {
    return Change.lostWrite(branch, why);
  }
}
