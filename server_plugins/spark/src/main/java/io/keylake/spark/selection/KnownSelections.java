package io.keylake.spark.selection;

import io.keylake.tables.planning.SectionPlan;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The selections that reads have found in this process, for those that come later. What was not
 * asked for longest goes first when their bytes would be more than their share of the heap.
 */
public final class KnownSelections {
  /** Of the heap of this process. */
  private static final int SHARE_OF_HEAP = 32;

  private static final KnownSelections OF_PROCESS =
      new KnownSelections(Runtime.getRuntime().maxMemory() / SHARE_OF_HEAP);

  private final long mostBytes;
  private final Map<MergedFiles, Selection> byFiles = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;

  KnownSelections(long mostBytes) {
    this.mostBytes = mostBytes;
  }

  /** Those that all tasks of this process share. */
  public static KnownSelections ofProcess() {
    return OF_PROCESS;
  }

  /** The selection of a section, or null where no read has found it, or it was left out again. */
  public synchronized @Nullable Selection of(SectionPlan section) {
    MergedFiles files = MergedFiles.of(section);
    Selection known = byFiles.get(files);
    boolean hasColumns = !files.rules().classes().isEmpty();
    return known != null || hasColumns ? known : byFiles.get(files.withColumns());
  }

  /** Keeps the selection of a section; one that takes more than the share alone is not kept. */
  public synchronized void keep(SectionPlan section, Selection selection) {
    MergedFiles files = MergedFiles.of(section);
    if (bytes(files, selection) > mostBytes) {
      return;
    }
    Selection before = byFiles.put(files, selection);
    bytes += before == null ? bytes(files, selection) : selection.bytes() - before.bytes();
    Iterator<Map.Entry<MergedFiles, Selection>> longestNotAskedFor = byFiles.entrySet().iterator();
    while (bytes > mostBytes) {
      Map.Entry<MergedFiles, Selection> oldest = longestNotAskedFor.next();
      bytes -= bytes(oldest.getKey(), oldest.getValue());
      longestNotAskedFor.remove();
    }
  }

  private static long bytes(MergedFiles files, Selection selection) {
    return files.bytes() + selection.bytes();
  }

  synchronized long bytes() {
    return bytes;
  }
}
