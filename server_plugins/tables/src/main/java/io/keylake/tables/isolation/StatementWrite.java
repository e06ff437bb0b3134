package io.keylake.tables.isolation;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.history.WriteLabels;
import java.util.Collections;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** A write of rows that were made of rows of the same table, read at one of its snapshots. */
public record StatementWrite(Append append, Isolation isolation) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    append.addTo(
        attempt,
        Collections.singletonList(append.branch()),
        (said, parent, number) -> {
          isolation.check(
              attempt.transaction().table(), parent, attempt.parent(null), append.files());
          return said;
        });
  }

  @Override
  public List<String> written() {
    return append.written();
  }

  @Override
  public WriteLabels labels() {
    return append.labels();
  }

  @Override
  public @Nullable KeylakeException lost(String why) {
    return append.lost(why);
  }
}
