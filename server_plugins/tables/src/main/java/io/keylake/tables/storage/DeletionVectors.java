package io.keylake.tables.storage;

import io.keylake.tables.GuestApi;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;

/** Says whether positions of deleted rows are stored as deletion vectors. */
@GuestApi
public final class DeletionVectors {
  private static final int FIRST_FORMAT = 3;

  private DeletionVectors() {}

  /** Otherwise they are rows of position delete files. */
  public static boolean areIn(Table table) {
    return TableUtil.formatVersion(table) >= FIRST_FORMAT;
  }
}
