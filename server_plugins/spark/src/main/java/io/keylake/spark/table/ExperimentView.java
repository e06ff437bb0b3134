package io.keylake.spark.table;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.write.request.WriteOptions.Verb;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.planning.request.Overlay;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * A table as one experiment sees it, or several that are read together: what main has now, merged
 * with what the experiments have written.
 *
 * @param read the columns of a read
 * @param scope the head of main, merged with the files of the experiments
 */
record ExperimentView(List<Experiment> experiments, KeyedSchema read, ReadScope scope) {

  static ExperimentView of(Table table, List<Experiment> experiments) {
    Snapshot main = table.currentSnapshot();
    return new ExperimentView(
        List.copyOf(experiments),
        KeyedSchema.withExperiments(table, experiments),
        ReadScope.ofSnapshot(main == null ? null : Long.valueOf(main.snapshotId()))
            .with(
                experiments.stream()
                    .map(
                        each ->
                            new Overlay(head(table, each), KeyedSchema.ofExperiment(table, each)))
                    .toList()));
  }

  /** Statements of Iceberg can drop any branch. */
  private static long head(Table table, Experiment experiment) {
    SnapshotRef ref = table.refs().get(experiment.branch());
    if (ref == null) {
      throw new KeylakeException(
          NOT_FOUND,
          "branch '%s' of table %s, which had the values of experiment '%s', was dropped; end the experiment by drop_experiment"
              .formatted(experiment.branch(), table.name(), experiment.name()));
    }
    return ref.snapshotId();
  }

  /** The snapshot of main; null where it has no commit. */
  @Nullable Long main() {
    return scope.snapshotId();
  }

  /** The columns that are written: those of the one experiment. */
  KeyedSchema stored(String table) {
    if (scope.overlays().size() != 1) {
      throw new KeylakeException(
          UNSUPPORTED,
          "%s names %d experiments, which are read together; write to one of them"
              .formatted(table, scope.overlays().size()));
    }
    return scope.overlays().get(0).schema();
  }

  /** Refuses what would concern rows of main. */
  void check(String table, Verb verb) {
    if (verb != Verb.UPSERT && verb != Verb.UPDATE) {
      throw new KeylakeException(
          UNSUPPORTED,
          "%s is not supported in experiment '%s' of table %s, which has values of its own columns only; update them, or write to the table itself"
              .formatted(verb.word(), experiments.get(0).name(), table));
    }
  }
}
