package io.keylake.tables;

import java.util.concurrent.atomic.LongAdder;

/**
 * Numbers of what the merged reads of this process have done since it started, of all tables, and
 * of what they found in its caches. They only grow.
 */
public enum ReadTotal {
  /** Look-ups of one key that this process has answered without a job. */
  LOOKUPS("lookups"),
  /** Tasks of merged reads that have ended. */
  TASKS("read_tasks"),
  /** Rows of all runs, before they were merged. */
  ROWS_IN("rows_in"),
  /** Merged rows. */
  ROWS_OUT("rows_out"),
  FILES("files_opened"),
  /** Data files that filters of their keys have left out. */
  FILES_LEFT_OUT("files_left_out"),
  BYTES("bytes_read"),
  /** Footers of data files that were kept. */
  FOOTER_HITS("footer_hits"),
  /** Footers of data files that were read from the store. */
  FOOTER_MISSES("footer_misses"),
  /** Manifests, and lists of them, that were kept. */
  MANIFEST_HITS("manifest_hits"),
  /** Manifests, and lists of them, that were read from the store. */
  MANIFEST_MISSES("manifest_misses"),
  /** Files of a table's metadata that were kept. */
  METADATA_HITS("metadata_hits"),
  /** Files of a table's metadata that were read from the store. */
  METADATA_MISSES("metadata_misses"),
  /** Tables that a client of the catalog for other engines has loaded, whose answer was kept. */
  LOAD_HITS("catalog_load_hits"),
  /** Tables that a client of that catalog has loaded, whose answer was made. */
  LOAD_MISSES("catalog_load_misses"),
  /** Sections of which an earlier read has found the rows that win. */
  SELECTION_HITS("selection_hits"),
  /** Sections of which no read that is remembered has found the rows that win. */
  SELECTION_MISSES("selection_misses");

  private final String label;
  private final LongAdder number = new LongAdder();

  ReadTotal(String label) {
    this.label = label;
  }

  /** The name under which monitoring knows it. */
  public String label() {
    return label;
  }

  public void add(long more) {
    number.add(more);
  }

  public long value() {
    return number.sum();
  }
}
