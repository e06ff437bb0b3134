package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.EqualityDeletes;
import io.keylake.plaindeletes.index.PlannedFile;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.CloseableIterable;

/**
 * The plan by which the equality deletes of a snapshot become positions:
 *
 * <ol>
 *   <li>Iceberg says which delete files may touch which data files.
 *   <li>The data files that a condition selects are put into portions, by the deletes that apply.
 *   <li>A delete file waits for each data file that it may touch, selected or not. It goes when it
 *       waits for none any more ({@link WaitingDeletes}); one that may touch nothing goes at once.
 * </ol>
 *
 * @param equalityDeletes all of the snapshot
 * @param waitedFor by the location of a data file the locations of the delete files that wait for
 *     it
 */
record ConversionPlan(
    Snapshot snapshot,
    List<Portion> portions,
    List<DeleteFile> equalityDeletes,
    Map<String, List<String>> waitedFor) {

  /**
   * @param where for data files that may have such rows; the others stay as they are
   * @param converted by the locations of data files the sequence number up to which their equality
   *     deletes are positions already, though the delete files are still there for others
   */
  static ConversionPlan of(
      Table table, Snapshot snapshot, Expression where, Map<String, Long> converted) {
    List<FileScanTask> tasks = new ArrayList<>();
    Map<String, List<String>> waitedFor = new HashMap<>();
    eachFile(
        table,
        snapshot,
        Expressions.alwaysTrue(),
        task -> {
          long until = converted.getOrDefault(task.file().location(), -1L);
          List<String> waiting =
              task.deletes().stream()
                  .filter(ConversionPlan::isByEquality)
                  .filter(delete -> delete.dataSequenceNumber() > until)
                  .map(DeleteFile::location)
                  .toList();
          if (!waiting.isEmpty()) {
            tasks.add(task);
            waitedFor.put(task.file().location(), waiting);
          }
        });
    if (!where.equals(Expressions.alwaysTrue())) {
      Set<String> selected = new HashSet<>();
      eachFile(table, snapshot, where, task -> selected.add(task.file().location()));
      tasks.removeIf(task -> !selected.contains(task.file().location()));
    }
    return new ConversionPlan(
        snapshot,
        portions(EqualityDeletes.of(tasks, table.schema(), table.specs())),
        equalityDeletes(table, snapshot),
        waitedFor);
  }

  private static void eachFile(
      Table table, Snapshot snapshot, Expression where, Consumer<FileScanTask> what) {
    try (CloseableIterable<FileScanTask> tasks =
        table
            .newScan()
            .useSnapshot(snapshot.snapshotId())
            .filter(where)
            .ignoreResiduals()
            .planFiles()) {
      tasks.forEach(what);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  static boolean isByEquality(DeleteFile file) {
    return file.content() == FileContent.EQUALITY_DELETES;
  }

  static List<DeleteFile> equalityDeletes(Table table, Snapshot snapshot) {
    List<DeleteFile> found = new ArrayList<>();
    for (ManifestFile manifest : snapshot.deleteManifests(table.io())) {
      try (ManifestReader<DeleteFile> files =
          ManifestFiles.readDeleteManifest(manifest, table.io(), table.specs())) {
        for (DeleteFile file : files) {
          if (isByEquality(file)) {
            found.add(file.copyWithoutStats());
          }
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return found;
  }

  private static List<Portion> portions(EqualityDeletes planned) {
    List<Portion> portions = new ArrayList<>();
    List<PlannedFile> files = planned.files();
    int to;
    for (int from = 0; from < files.size(); from = to) {
      List<Integer> groups = files.get(from).groups();
      to = from + 1;
      while (to < files.size() && files.get(to).groups().equals(groups)) {
        to++;
      }
      if (!groups.isEmpty()) {
        portions.add(
            new Portion(
                groups.stream().map(planned.groups()::get).toList(), files.subList(from, to)));
      }
    }
    return portions;
  }
}
