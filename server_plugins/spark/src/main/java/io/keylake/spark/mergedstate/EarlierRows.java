package io.keylake.spark.mergedstate;

import io.keylake.spark.changes.TouchedKeys;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * The rows of a section that a state has already.
 *
 * <ol>
 *   <li>The merged row of a key follows from the stored files that have the key, and from their
 *       places among commits. So the rows of all keys stay as they are, and where they are, but for
 *       those keys that lie in files which have come or gone.
 *   <li>Compaction changes no row: one that was composed stays as well, if only compactions have
 *       brought files of its key, or taken them away.
 * </ol>
 *
 * @param added locations of the files of the section that the state is not of
 * @param gone files that the state is of, and the section has no more
 * @param stored the files that both have, by location; without those that show no row
 * @param composed files of composed rows, which stay
 * @param renewed files of composed rows, of which the rows are composed again
 * @param written the files that writes have brought or taken away since: all else that came or went
 *     was compacted, which changes no row; null where that is not known
 */
record EarlierRows(
    Set<String> added,
    List<StoredFile> gone,
    Map<String, StateFile> stored,
    List<StateFile> composed,
    List<StateFile> renewed,
    @Nullable List<StoredFile> written)
    implements Serializable {
  /** Beyond this share of all rows, a section is made as a whole, which reads each file once. */
  private static final double MOST_TOUCHED = 0.5;

  /**
   * The earlier rows of a section; null where there are none, or too few of them, where what was
   * one section has become several, and where files were settled.
   *
   * @param section the stored files of a section that is merged, of all rows of its keys
   * @param known the sections of the state
   * @param now all files that the keyed table has now
   * @param written the files that writes have brought or taken away, where they are asked for
   */
  static @Nullable EarlierRows of(
      Map<Place, StoredFile> section,
      Collection<StateSection> known,
      Set<Place> now,
      Supplier<@Nullable List<StoredFile>> written) {
    List<StateSection> earlier =
        known.stream()
            .filter(each -> each.stored().keySet().stream().anyMatch(section::containsKey))
            .toList();
    Map<Place, StoredFile> before = new HashMap<>();
    earlier.forEach(each -> before.putAll(each.stored()));
    boolean isApart =
        before.keySet().stream().anyMatch(each -> now.contains(each) && !section.containsKey(each));
    // Which rows of a settled file lose is said by files that were in sections of their own.
    boolean wasSettled = before.values().stream().anyMatch(file -> !file.isWhole());
    if (earlier.isEmpty() || isApart || wasSettled) {
      return null;
    }
    Set<String> added = new HashSet<>();
    List<StoredFile> gone = new ArrayList<>();
    Map<String, StateFile> stored = new HashMap<>();
    List<StateFile> composed = new ArrayList<>();
    long touched = 0;
    long all = 0;
    for (Map.Entry<Place, StoredFile> each : section.entrySet()) {
      all += each.getValue().rows();
      if (!before.containsKey(each.getKey())) {
        added.add(each.getValue().location());
        touched += each.getValue().rows();
      }
    }
    for (Map.Entry<Place, StoredFile> each : before.entrySet()) {
      if (!section.containsKey(each.getKey())) {
        gone.add(each.getValue());
        touched += each.getValue().rows();
      }
    }
    if (touched > MOST_TOUCHED * all) {
      return null;
    }
    for (StateSection each : earlier) {
      for (StateFile file : each.files()) {
        if (!each.stores(file)) {
          composed.add(file);
        } else if (!added.contains(file.location())) {
          stored.put(file.location(), file);
        }
      }
    }
    gone.forEach(file -> stored.remove(file.location()));
    List<StateFile> renewed = ComposedFiles.renewed(composed);
    composed.removeAll(renewed);
    boolean isCompacted = !gone.isEmpty() && !composed.isEmpty();
    return new EarlierRows(
        added, gone, stored, composed, renewed, isCompacted ? written.get() : null);
  }

  /** The files that are gone have not been deleted yet, so that their keys can be read. */
  boolean areReadable(FileIO io) {
    return areThere(gone, io);
  }

  private static boolean areThere(List<StoredFile> files, FileIO io) {
    return files.stream().allMatch(file -> io.newInputFile(file.location()).exists());
  }

  /** The keys whose rows are looked at again, in files of the section or of the state. */
  TouchedKeys keys(KeyedSchema schema, List<StoredFile> section, DataFiles files, FileIO io)
      throws IOException {
    TouchedKeys all = TouchedKeys.of(schema, touching(section), files);
    return written == null || !areThere(written, io)
        ? all
        : all.without(
            composed.stream().map(StateFile::read).toList(),
            TouchedKeys.of(schema, written, files));
  }

  private List<StoredFile> touching(List<StoredFile> section) {
    List<StoredFile> touching = new ArrayList<>();
    section.stream().filter(file -> added.contains(file.location())).forEach(touching::add);
    touching.addAll(gone);
    renewed.forEach(file -> touching.add(file.read()));
    return touching;
  }
}
