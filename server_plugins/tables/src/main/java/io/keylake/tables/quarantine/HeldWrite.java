package io.keylake.tables.quarantine;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.jspecify.annotations.Nullable;

/**
 * A write of which some rows are held back: these come to the quarantine and the others to main, in
 * one change of the table.
 *
 * @param passing the write of the others, whose commit is told to its client
 * @param held files of the rows that are held back
 * @param summary of these
 * @param conditions of the write
 */
public record HeldWrite(
    Change passing, List<DataFile> held, WriteSummary summary, List<String> conditions)
    implements Change {
  public HeldWrite {
    held = List.copyOf(held);
    conditions = List.copyOf(conditions);
  }

  @Override
  public void addTo(Attempt attempt) {
    Quarantine.begin(attempt);
    new Append(Quarantine.BRANCH, held, summary)
        .addTo(
            attempt,
            List.of(Quarantine.BRANCH),
            (said, parent, number) -> {
              Snapshot before = parent.snapshot();
              if (before == null || !Quarantine.isOne(before)) {
                throw Attempt.again(); // all rows were released meanwhile, and the branch is gone
              }
              return said.with(WriteSummary.CONDITIONS, Quarantine.conditions(before, conditions));
            });
    passing.addTo(attempt);
  }

  @Override
  public List<String> written() {
    return Stream.concat(passing.written().stream(), held.stream().map(DataFile::location))
        .toList();
  }

  @Override
  public WriteLabels labels() {
    return passing.labels();
  }

  @Override
  public @Nullable KeylakeException lost(String why) {
    return passing.lost(why);
  }
}
