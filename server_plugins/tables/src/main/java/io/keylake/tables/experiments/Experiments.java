package io.keylake.tables.experiments;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.spec.Experiment;
import java.util.List;
import java.util.function.Supplier;
import org.apache.iceberg.Table;

/** The experiments of a table: columns that main does not show, see {@link Experiment}. */
public record Experiments(Table table) {
  /** Any commit in between is an end to a try: columns are changed upon what is there. */
  private static final int MOST_TRIES = 100;

  public List<Experiment> all() {
    return Experiment.all(table.properties());
  }

  /** The experiment of a name, or an error that says which there are. */
  public Experiment found(String name) {
    return found(table, name);
  }

  static Experiment found(Table table, String name) {
    Experiment experiment = Experiment.named(table.properties(), name);
    if (experiment == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "table %s has no experiment '%s'; its experiments are %s"
              .formatted(
                  table.name(),
                  name,
                  Experiment.all(table.properties()).stream().map(Experiment::name).toList()));
    }
    return experiment;
  }

  /**
   * Begins an experiment.
   *
   * @param columns of its own
   * @param without names of columns of main that it does not show
   */
  public Experiment create(String name, List<ColumnChange.Add> columns, List<String> without) {
    make("the beginning", name, () -> new NewExperiment(name, columns, without));
    return found(name);
  }

  /** Ends an experiment; nothing of it is left. */
  public void drop(String name) {
    make("the drop", name, () -> new DroppedExperiment(name));
  }

  /** Makes the columns of an experiment columns of main. */
  public void promote(String name) {
    make("the promotion", name, () -> Promotion.of(table, name));
  }

  private void make(String what, String name, Supplier<Change> change) {
    for (int tries = 0; tries < MOST_TRIES; tries++) {
      table.refresh();
      if (new Commits(table).make(change.get()).isCommitted()) {
        table.refresh();
        return;
      }
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "%s of experiment '%s' of table %s lost against other commits %d times; do it again"
            .formatted(what, name, table.name(), MOST_TRIES));
  }
}
