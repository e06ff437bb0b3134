package io.keylake.plaindeletes.conversion;

import io.keylake.plaindeletes.index.PlannedFile;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DeleteFile;

/** The equality delete files of a plan that wait for data files, while those are converted. */
final class WaitingDeletes {
  private final ConversionPlan plan;
  private final Map<String, DeleteFile> files = new HashMap<>();
  private final Map<String, Integer> left = new HashMap<>(); // data files, by delete file

  WaitingDeletes(ConversionPlan plan) {
    this.plan = plan;
    plan.waitedFor()
        .values()
        .forEach(waiting -> waiting.forEach(delete -> left.merge(delete, 1, Integer::sum)));
    plan.equalityDeletes().forEach(delete -> files.put(delete.location(), delete));
  }

  /** The delete files that apply to no data file. */
  List<DeleteFile> waitingForNone() {
    return files.values().stream().filter(each -> !left.containsKey(each.location())).toList();
  }

  /**
   * The delete files that wait for none any more when the data files of a portion have been
   * converted.
   */
  List<DeleteFile> freedBy(Portion portion) {
    List<DeleteFile> freed = new ArrayList<>();
    for (PlannedFile file : portion.files()) {
      Set<String> kept = new HashSet<>(); // those by fields that cannot be indexed stay
      file.task().deletes().forEach(delete -> kept.add(delete.location()));
      for (String delete :
          plan.waitedFor().getOrDefault(file.task().file().location(), List.of())) {
        if (!kept.contains(delete) && left.merge(delete, -1, Integer::sum) == 0) {
          freed.add(files.get(delete));
        }
      }
    }
    return freed;
  }
}
