package io.keylake.plaindeletes.index;

import java.util.List;
import org.apache.iceberg.FileScanTask;

/**
 * A data file with its equality deletes.
 *
 * @param task the file with those deletes only that are in no group: position deletes, deletion
 *     vectors, and equality deletes by fields that cannot be indexed
 * @param groups the numbers of the groups that apply to it, in ascending order
 */
public record PlannedFile(FileScanTask task, List<Integer> groups) {

  /** Deletes apply to the file if their sequence number is greater. */
  public long sequenceNumber() {
    return task.file().dataSequenceNumber();
  }
}
