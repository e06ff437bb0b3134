package io.keylake.spark.localfiles;

import java.io.IOException;
import java.net.URI;
import java.net.URISyntaxException;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.ChecksumFs;
import org.apache.hadoop.fs.DelegateToFileSystem;
import org.apache.hadoop.fs.FsConstants;

/**
 * The same files for those who ask Hadoop in its newer way, as checkpoints of streams do. Named in
 * {@code fs.AbstractFileSystem.file.impl}.
 */
public final class LocalFilesContext extends ChecksumFs {
  /** Hadoop calls it with the place that is asked for. */
  public LocalFilesContext(URI place, Configuration settings)
      throws IOException, URISyntaxException {
    super(new Plain(settings));
  }

  private static final class Plain extends DelegateToFileSystem {
    Plain(Configuration settings) throws IOException, URISyntaxException {
      super(
          FsConstants.LOCAL_FS_URI,
          new PlainLocalFiles(),
          settings,
          FsConstants.LOCAL_FS_URI.getScheme(),
          false);
    }

    @Override
    public int getUriDefaultPort() {
      return -1;
    }

    /** Names may have dots and colons. */
    @Override
    public boolean isValidName(String path) {
      return true;
    }
  }
}
