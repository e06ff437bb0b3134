package io.keylake.spark.mergedstate;

import io.keylake.merge.MergeRules;
import io.keylake.tables.planning.FileListing.Place;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * All that the merged rows of a section depend on: two sections with the same key have the same.
 *
 * @param runs the files at their places among commits, and what says which of their rows are
 *     superseded
 */
record SectionKey(
    List<List<StoredPlace>> runs, @Nullable MergeRules rules, List<DecidedColumns> classes) {
  /**
   * A file of a run.
   *
   * @param superseded names what says which of its rows are superseded
   */
  record StoredPlace(Place place, List<String> superseded) {}

  /**
   * @param places of all files among commits, by their locations
   */
  static SectionKey of(SectionPlan section, Map<String, Place> places) {
    List<List<StoredPlace>> runs = new ArrayList<>();
    for (List<SectionPlan.StoredFile> run : section.runs()) {
      List<StoredPlace> ofRun = new ArrayList<>();
      for (SectionPlan.StoredFile file : run) {
        List<String> superseded = new ArrayList<>();
        for (DeleteFile deletes : file.superseded()) {
          superseded.add(deletes.location() + "@" + deletes.contentOffset());
        }
        Place place = Objects.requireNonNull(places.get(file.location()), "it is of the snapshot");
        ofRun.add(new StoredPlace(place, superseded));
      }
      runs.add(ofRun);
    }
    return new SectionKey(runs, section.rules(), section.classes());
  }
}
