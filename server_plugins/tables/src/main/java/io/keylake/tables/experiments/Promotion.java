package io.keylake.tables.experiments;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Parent;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec.Versions;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.iceberg.AppendFiles;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Makes the columns of an experiment columns of main, in one transaction that opens no data file:
 *
 * <ol>
 *   <li>The version leaf of its first column says so in its comment. That makes another schema, by
 *       which commits since then are told from those of the time when main did not show the
 *       columns.
 *   <li>Its files are added to main with the versions that they have. Where a bucket has several
 *       runs, each is a commit of its own, the oldest first: so their order stays, and at equal
 *       versions they come after what main has, as they did before.
 *   <li>The property that hides the columns goes, and the branch.
 *   <li>It holds only while the experiment stands where it stood when it was planned.
 * </ol>
 *
 * @param head where the branch of the experiment stands
 * @param layers its files, as they are committed
 */
record Promotion(Experiment experiment, long head, List<List<DataFile>> layers) implements Change {
  Promotion {
    layers = layers.stream().map(List::copyOf).toList();
  }

  static Promotion of(Table table, String name) {
    Experiment experiment = Experiments.found(table, name);
    Long head = new CommitLog(table, experiment.branch()).headId();
    if (head == null) {
      throw new IllegalStateException("the branch of an experiment begins with a commit");
    }
    Lineage.check(table, head);
    return new Promotion(experiment, head, layers(table, FileListing.ofAll(table).at(head)));
  }

  /** Files of one layer never have rows of the same keys. There is one at least, maybe empty. */
  private static List<List<DataFile>> layers(Table table, List<FileScanTask> tasks) {
    List<List<DataFile>> layers = new ArrayList<>(List.of(new ArrayList<>()));
    BucketCounts counts = BucketCounts.of(table);
    for (List<FileScanTask> bucket : counts.grouped(tasks, counts.all().first()).values()) {
      SortedMap<Long, List<DataFile>> runs = new TreeMap<>();
      for (FileScanTask task : bucket) {
        if (!task.deletes().isEmpty()) {
          throw new KeylakeException(
              UNSUPPORTED,
              "file %s has rows that are said to be superseded, which cannot be promoted; compact the experiment and promote it again"
                  .formatted(task.file().location()));
        }
        runs.computeIfAbsent(task.file().dataSequenceNumber(), age -> new ArrayList<>())
            .add(task.file());
      }
      int layer = 0;
      for (List<DataFile> run : runs.values()) {
        if (layer == layers.size()) {
          layers.add(new ArrayList<>());
        }
        layers.get(layer).addAll(run);
        layer++;
      }
    }
    return layers;
  }

  @Override
  public void addTo(Attempt attempt) {
    Table table = attempt.transaction().table();
    Experiments.found(table, experiment.name());
    KeyedSchema own = KeyedSchema.ofExperiment(table, experiment);
    NestedField first = own.table().findField(experiment.added().get(0));
    attempt
        .transaction()
        .updateSchema()
        .updateColumnDoc(
            KeyedSchema.LEAVES + "." + own.spec().leafOf(first.name()),
            "Of a column that came with experiment '%s'.".formatted(experiment.name()))
        .commit();
    for (List<DataFile> layer : layers) {
      AppendFiles append = attempt.transaction().newFastAppend();
      layer.forEach(append::appendFile);
      Map<String, String> summary = summary(own, layer);
      attempt.commit(null, append, parent -> said(parent, summary));
    }
    UpdateProperties properties =
        attempt
            .transaction()
            .updateProperties()
            .remove(experiment.property())
            .set(
                experiment.propertyOncePromoted(),
                experiment.promotedJson(attempt.transaction().table().schema().schemaId()));
    if (own.spec().versions() == Versions.COMMIT) {
      properties.set(Experiment.VERSIONS_DECIDE, "true");
    }
    properties.commit();
    attempt.references().removeBranch(experiment.branch()).commit();
  }

  private CommitSummary said(Parent parent, Map<String, String> summary) {
    Long now = parent.headOf(experiment.branch());
    if (now == null || now != head) {
      throw Attempt.stale();
    }
    Map<String, String> all = new LinkedHashMap<>(parent.settled().properties());
    all.putAll(summary);
    return CommitSummary.of(all);
  }

  private static Map<String, String> summary(KeyedSchema own, List<DataFile> files) {
    Long lowest = null;
    Long highest = null;
    for (DataFile file : files) {
      Long low = version(own, file.lowerBounds());
      lowest = lowest == null || low == null ? low : Long.valueOf(Math.min(lowest, low));
      highest = HighestVersion.larger(highest, version(own, file.upperBounds()));
    }
    return new WriteSummary(
            WriteSummary.PROMOTE_EXPERIMENT,
            files.stream().mapToLong(DataFile::recordCount).sum(),
            lowest,
            highest,
            own.values().stream().map(NestedField::name).toList(),
            WriteLabels.NONE)
        .properties(false);
  }

  private static @Nullable Long version(
      KeyedSchema own, @Nullable Map<Integer, ByteBuffer> bounds) {
    ByteBuffer bound = bounds == null ? null : bounds.get(own.version().fieldId());
    return bound == null
        ? null
        : Conversions.<Long>fromByteBuffer(Types.LongType.get(), bound.duplicate());
  }

  @Override
  public @Nullable KeylakeException lost(String why) {
    return null;
  }
}
