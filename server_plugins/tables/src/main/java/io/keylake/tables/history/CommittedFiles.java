package io.keylake.tables.history;

import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;

/** The data files that one commit added, as its manifests name them. */
public final class CommittedFiles {
  private CommittedFiles() {}

  public static List<DataFile> of(Table table, Snapshot commit) {
    List<DataFile> files = new ArrayList<>();
    SnapshotChanges.builderFor(table).snapshot(commit).build().addedDataFiles().forEach(files::add);
    return files;
  }
}
