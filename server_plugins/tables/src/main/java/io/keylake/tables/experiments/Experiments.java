package io.keylake.tables.experiments;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.spec.Experiment;
import java.util.List;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;

/** The experiments of a table: columns that main does not show, see {@link Experiment}. */
public record Experiments(Table table) {
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
    Backoff.retry(table, "%s of experiment '%s'".formatted(what, name), () -> made(change.get()));
  }

  private Commits.Result made(Change change) {
    Commits.Result result = new Commits(table).make(change);
    if (!result.isCommitted()) {
      throw new CommitFailedException("the table has changed since the change was planned");
    }
    return result;
  }
}
