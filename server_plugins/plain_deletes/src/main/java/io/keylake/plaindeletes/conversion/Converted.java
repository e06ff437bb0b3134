package io.keylake.plaindeletes.conversion;

import java.io.Serializable;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;

/**
 * The files that were written for some data files.
 *
 * @param added position deletes or deletion vectors
 * @param replaced files whose positions the added ones have, too
 * @param locations of the data files with new positions
 * @param emptied data files of which no row is left: they get no positions, but go
 * @param rows that equality deletes had deleted, and now a position does
 */
public record Converted(
    List<DeleteFile> added,
    List<DeleteFile> replaced,
    List<String> locations,
    List<DataFile> emptied,
    long rows)
    implements Serializable {

  boolean changesNothing() {
    return added.isEmpty() && emptied.isEmpty();
  }
}
