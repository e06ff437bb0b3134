package io.keylake.tables.spec;

/**
 * Columns that travel with the rows to the writer and are not stored. Their names begin as no
 * user's column may.
 */
public final class HelperColumn {
  public static final String VERSION = "_merge_info:version";
  public static final String VERSION_OF = "_merge_info:version_of:";
  public static final String COLUMNS_FROM = "_merge_info:columns_from";
  public static final String OP = "_merge_info:op";
  public static final String ROW_ORDER = "_merge_info:row_order";

  /** The states of accumulators, of a row that several were combined to; null in all others. */
  public static final String COMBINED = "_merge_info:combined";

  /** The beginning of a row's place in the order of the write, as a number; not in all writes. */
  public static final String PLACE = "_merge_info:place";

  /** The condition of the write that a row does not satisfy; null of a row that passes. */
  public static final String FAILED = "_merge_info:failed";

  private HelperColumn() {}
}
