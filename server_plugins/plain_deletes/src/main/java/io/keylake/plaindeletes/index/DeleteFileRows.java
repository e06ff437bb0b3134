package io.keylake.plaindeletes.index;

import java.io.IOException;
import org.apache.iceberg.DeleteFile;

/** Reads equality delete files. */
public interface DeleteFileRows {

  /** Takes the keys of a file, one after the other. */
  interface Sink {
    void add(DeleteKey key) throws IOException;
  }

  /** Hands over the key of each row of a file of the group. */
  void read(DeleteGroup group, DeleteFile file, Sink into) throws IOException;
}
