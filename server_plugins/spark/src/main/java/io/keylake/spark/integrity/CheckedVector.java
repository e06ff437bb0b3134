package io.keylake.spark.integrity;

import io.keylake.tables.FileDamage;
import java.io.IOException;
import java.io.UncheckedIOException;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.puffin.BlobMetadata;
import org.apache.iceberg.puffin.Puffin;
import org.apache.iceberg.puffin.PuffinReader;

/**
 * A deletion vector whose Puffin file says what its manifest says. The bytes of a vector do not
 * name the data file whose rows they delete; only the footer of its file does.
 */
public final class CheckedVector {
  private static final String REFERENCED = "referenced-data-file";

  private CheckedVector() {}

  /**
   * @param bytes of the file, as its manifest says
   * @param begin of the vector in the file
   * @param dataFile whose rows the vector deletes, as its manifest says
   */
  public static void check(InputFile file, long bytes, long begin, String dataFile)
      throws IOException {
    try (PuffinReader reader = Puffin.read(file).withFileSize(bytes).build()) {
      in(reader, begin, dataFile);
    } catch (RuntimeException e) {
      if (isOfFooter(e)) {
        throw FileDamage.of("its footer", e);
      }
      throw e;
    }
  }

  /** The errors with which Iceberg meets a footer that is none. */
  private static boolean isOfFooter(RuntimeException failure) {
    return failure instanceof IllegalStateException
        || FileDamage.isShownBy(failure)
        || (failure instanceof UncheckedIOException
            && String.valueOf(failure.getCause()).contains(".jackson."));
  }

  /** The vector in an open file. */
  public static BlobMetadata in(PuffinReader reader, long begin, String dataFile)
      throws IOException {
    for (BlobMetadata blob : reader.fileMetadata().blobs()) {
      if (blob.offset() == begin) {
        String referenced = blob.properties().get(REFERENCED);
        if (!dataFile.equals(referenced)) {
          throw new FileDamage("its deletion vector is that of file %s".formatted(referenced));
        }
        return blob;
      }
    }
    throw new FileDamage("it has no deletion vector at %d".formatted(begin));
  }
}
