package io.keylake.tables.branches;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.spec.Experiment;

/** Makes a branch of what main is then; nothing where there is one of its name. */
public record NewBranch(String branch) implements Change {
  /** Refuses the names of branches that keylake makes itself, and then takes for its own. */
  public NewBranch {
    if (branch.equals(MergedBranch.NAME)
        || branch.equals(Quarantine.BRANCH)
        || branch.startsWith(Experiment.BRANCH)
        || branch.startsWith(HistoryBranches.PREFIX)) {
      throw new KeylakeException(
          DEFINITION,
          "keylake itself gives the name '%s' to a branch; take another name".formatted(branch));
    }
  }

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
