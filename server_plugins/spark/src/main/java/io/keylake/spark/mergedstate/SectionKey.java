package io.keylake.spark.mergedstate;

import io.keylake.merge.MergeRules;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * All that the merged rows of a section depend on: two sections with the same key have the same.
 *
 * @param runs locations of the files, and of what says which of their rows are superseded
 */
record SectionKey(
    List<List<String>> runs, @Nullable MergeRules rules, List<DecidedColumns> classes) {
  static SectionKey of(SectionPlan section) {
    List<List<String>> runs = new ArrayList<>();
    for (List<SectionPlan.StoredFile> run : section.runs()) {
      List<String> names = new ArrayList<>();
      for (SectionPlan.StoredFile file : run) {
        names.add(file.location());
        for (DeleteFile superseded : file.superseded()) {
          names.add(superseded.location() + "@" + superseded.contentOffset());
        }
      }
      runs.add(names);
    }
    return new SectionKey(runs, section.rules(), section.classes());
  }
}
