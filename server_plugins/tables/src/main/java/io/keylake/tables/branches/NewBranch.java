package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;

/** Makes a branch of what main is then; nothing where there is one of its name. */
public record NewBranch(String branch) implements Change {
  @Override
  public void addTo(Attempt attempt) {
    if (attempt.parent(null).references().contains(branch)) {
      throw Attempt.stale();
    }
    attempt.references().createBranch(branch).commit();
  }

  @Override
  public KeylakeException lost(String why) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "making branch '%s' lost against other commits (%s); make it again".formatted(branch, why));
  }
}
