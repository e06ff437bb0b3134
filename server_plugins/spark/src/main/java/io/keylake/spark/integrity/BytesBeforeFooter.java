package io.keylake.spark.integrity;

import java.io.IOException;
import org.apache.parquet.format.FileMetaData;

/** Bytes that a file gets behind the indexes of its pages, when all of its pages are written. */
public interface BytesBeforeFooter {
  /** No bytes. */
  BytesBeforeFooter NONE = (footer, begin, crcOfIndexes) -> new byte[0];

  /**
   * The bytes.
   *
   * @param footer of the file; where there are bytes, they are noted in it
   * @param begin of the bytes in the file, where the indexes end
   * @param crcOfIndexes the CRC-32 of the indexes
   */
  byte[] bytes(FileMetaData footer, long begin, int crcOfIndexes) throws IOException;
}
