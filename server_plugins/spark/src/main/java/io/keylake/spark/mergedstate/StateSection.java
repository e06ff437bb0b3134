package io.keylake.spark.mergedstate;

import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.util.List;
import java.util.Map;

/**
 * A section as a state has it.
 *
 * @param stored the files of the keyed table that the section is of, at their places among commits
 * @param files of the state
 */
record StateSection(Map<Place, StoredFile> stored, List<StateFile> files) {
  StateSection {
    stored = Map.copyOf(stored);
    files = List.copyOf(files);
  }

  /** The same without statistics. */
  StateSection remembered() {
    return new StateSection(stored, files.stream().map(StateFile::remembered).toList());
  }

  /** The file is one of the keyed table, and not of composed rows. */
  boolean stores(StateFile file) {
    return stored.values().stream().anyMatch(each -> each.location().equals(file.location()));
  }
}
