package io.keylake.tables.manifests;

import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;

/** Delete files of a snapshot, each of which takes rows out of one data file. */
final class DeletesByFile {
  private final Map<String, List<DeleteFile>> files = new HashMap<>();

  /**
   * A delete file and the data file of its rows.
   *
   * @param dataFile null where it may be several
   */
  record Entry(@Nullable String dataFile, DeleteFile deletes) {
    static Entry of(DeleteFile file) {
      boolean isOfPositions = file.content() == FileContent.POSITION_DELETES;
      String dataFile = isOfPositions ? ContentFileUtil.referencedDataFileLocation(file) : null;
      return new Entry(dataFile, file.copyWithoutStats());
    }
  }

  /**
   * Adds a delete file.
   *
   * @return false where this does not do for it: it may be of several data files, or is not the
   *     only deletion vector of its own
   */
  boolean add(Entry entry) {
    if (entry.dataFile == null) {
      return false;
    }
    List<DeleteFile> all = files.computeIfAbsent(entry.dataFile, file -> new ArrayList<>(1));
    boolean isSecond =
        ContentFileUtil.isDV(entry.deletes) && all.stream().anyMatch(ContentFileUtil::isDV);
    all.add(entry.deletes);
    return !isSecond;
  }

  /**
   * The delete files of a data file: those that are not older, and a deletion vector alone, since
   * it has the rows of all others.
   */
  List<DeleteFile> of(DataFile file) {
    List<DeleteFile> found = new ArrayList<>();
    for (DeleteFile each : files.getOrDefault(file.location(), List.of())) {
      if (each.dataSequenceNumber() >= file.dataSequenceNumber()) {
        if (ContentFileUtil.isDV(each)) {
          return List.of(each);
        }
        found.add(each);
      }
    }
    return List.copyOf(found);
  }
}
