package io.keylake.spark.read.selection;

import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.CacheKind;
import io.keylake.tables.planning.KeySlice;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The cache of the selections that reads have found in this process. */
public final class SelectionCache {
  private static final SelectionCache OF_PROCESS =
      new SelectionCache(CacheKind.SELECTIONS.bytesOfHeap());

  private final BoundedCache<SelectionKey, Selection> byFiles;

  SelectionCache(long mostBytes) {
    byFiles =
        new BoundedCache<SelectionKey, Selection>(
                mostBytes, (files, selection) -> files.bytes() + selection.bytes())
            .listed(CacheKind.SELECTIONS);
  }

  /** The selections that all tasks of this process share. */
  public static SelectionCache ofProcess() {
    return OF_PROCESS;
  }

  /** The selection of a section, or null where no read has found it, or it was left out again. */
  public @Nullable Selection of(SectionPlan section) {
    SelectionKey files = SelectionKey.of(section);
    Selection known = byFiles.of(files);
    boolean hasColumns = !files.rules().classes().isEmpty();
    return known != null || hasColumns ? known : byFiles.of(files.withColumns());
  }

  /** The number of merged rows of a section, where a read has found it. */
  public OptionalLong rows(SectionPlan section) {
    boolean isWhole = section.runs().stream().flatMap(List::stream).allMatch(StoredFile::isWhole);
    Selection known = isWhole && section.merging().mayBeStoredRows() ? of(section) : null;
    return known == null ? OptionalLong.empty() : OptionalLong.of(known.rows());
  }

  /**
   * The rows of a section that a read gives, where its rows are whole and reads have found them: of
   * the section at once, or of slices that together are all of it. Null otherwise.
   */
  public @Nullable Selection ofWholeRows(SectionPlan section) {
    if (!section.merging().areWholeRows() || section.slice() != null) {
      return null;
    }
    SelectionKey files = SelectionKey.of(section).withColumns();
    Selection known = byFiles.of(files);
    return known != null ? known : ofSlices(files);
  }

  private @Nullable Selection ofSlices(SelectionKey files) {
    Map<Optional<Serializable>, SelectionKey> byLower = new HashMap<>();
    for (SelectionKey part : byFiles.keys(key -> key.cutTo(null).equals(files))) {
      KeySlice slice = part.slice(); // null where a read has found all of it meanwhile
      if (slice != null && !slice.isOneValue()) {
        byLower.put(Optional.ofNullable(slice.lower()), part);
      }
    }
    Selection all = new Selection(Map.of());
    Serializable from = null;
    do {
      SelectionKey part = byLower.remove(Optional.ofNullable(from));
      Selection known = part == null ? null : byFiles.of(part);
      if (part == null || known == null) {
        return null;
      }
      all = all.and(known);
      from = Objects.requireNonNull(part.slice()).upper();
    } while (from != null);
    return all;
  }

  /** Keeps the selection of a section; one that takes more than the share alone is not kept. */
  public void keep(SectionPlan section, Selection selection) {
    byFiles.keep(SelectionKey.of(section), selection);
  }

  long bytes() {
    return byFiles.bytes();
  }
}
