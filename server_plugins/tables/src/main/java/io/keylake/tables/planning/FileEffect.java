package io.keylake.tables.planning;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileListing.Place;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.jspecify.annotations.Nullable;

/**
 * The effect of a commit that changes answers on the files of its branch. An undo has no effect of
 * its own: which other commits count says it all.
 *
 * @param added files that came with it
 * @param removed files that went with it, as they were before
 * @param emptied which files an overwrite was put in the place of; null for what is no overwrite
 */
public record FileEffect(
    Snapshot commit,
    List<FileScanTask> added,
    List<FileScanTask> removed,
    @Nullable Predicate<DataFile> emptied) {

  /** Single files were dropped or moved away. */
  public boolean takesOut() {
    return WriteSummary.isFileChange(commit) && !removed.isEmpty();
  }

  public boolean isUndo() {
    return WriteSummary.isUndo(commit);
  }

  /**
   * The files that are there after some commits, as they were written. One that came twice is there
   * once, at its later place: nothing that its rows say is lost.
   *
   * @param before the files that were there before
   * @param effects of the commits, oldest first
   * @param undone commits that do not count
   */
  public static List<FileScanTask> replayed(
      List<FileScanTask> before, List<FileEffect> effects, Set<Long> undone) {
    Map<String, FileScanTask> files = new LinkedHashMap<>();
    before.forEach(task -> files.put(task.file().location(), task));
    for (FileEffect effect : effects) {
      if (!effect.isUndo() && !undone.contains(effect.commit().snapshotId())) {
        effect.replay(files);
      }
    }
    return new ArrayList<>(files.values());
  }

  private void replay(Map<String, FileScanTask> files) {
    if (takesOut()) {
      Set<Place> gone = Place.of(removed);
      files.values().removeIf(task -> gone.contains(Place.of(task)));
    } else if (emptied != null) {
      files.values().removeIf(task -> emptied.test(task.file()));
    }
    added.forEach(task -> files.put(task.file().location(), task));
  }

  /**
   * The error for a merged file that was taken out: it cannot be told which rows of which write
   * went with it.
   */
  public KeylakeException takesOutMerged(FileScanTask task) {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d (%s) took out file %s, into which several writes had been merged, so that it cannot be told any more what these have left; take a range that ends before that commit or begins after it, or undo that commit first"
            .formatted(
                commit.snapshotId(),
                commit.summary().get(WriteSummary.VERB),
                task.file().location()));
  }
}
