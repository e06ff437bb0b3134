package io.keylake.spark.write;

/**
 * Columns that travel with the rows to the writer and are not stored. Their names begin as no
 * user's column may.
 */
final class HelperColumn {
  static final String VERSION = "_merge_info:version";
  static final String VERSION_OF = "_merge_info:version_of:";
  static final String COLUMNS_FROM = "_merge_info:columns_from";
  static final String OP = "_merge_info:op";
  static final String ROW_ORDER = "_merge_info:row_order";

  private HelperColumn() {}
}
