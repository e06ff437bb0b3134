package io.keylake.tables.cache;

import io.keylake.tables.ReadTotal;
import java.lang.ref.WeakReference;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.ToLongFunction;
import org.jspecify.annotations.Nullable;

/** The caches of this process by what they keep, and the part of the heap that each may take. */
public enum CacheKind {
  /** Files of tables' metadata. */
  METADATA("metadata", 64, ReadTotal.METADATA_HITS, ReadTotal.METADATA_MISSES),
  /** Contents of manifests, and the lists of them. */
  MANIFESTS("manifests", 32, ReadTotal.MANIFEST_HITS, ReadTotal.MANIFEST_MISSES),
  /** Footers of data files. */
  FOOTERS("footers", 32, ReadTotal.FOOTER_HITS, ReadTotal.FOOTER_MISSES),
  /** Positions of the pages of columns. */
  PAGE_INDEXES("page_indexes", 128, null, null),
  /** Parts of filters of columns. */
  COLUMN_FILTERS("column_filters", 64, null, null),
  /** The rows of sections that win. */
  SELECTIONS("selections", 32, ReadTotal.SELECTION_HITS, ReadTotal.SELECTION_MISSES),
  /** Answers of the catalog for other engines, whose bytes a setting bounds. */
  CATALOG_ANSWERS("catalog_answers", null, ReadTotal.LOAD_HITS, ReadTotal.LOAD_MISSES);

  private final String label;
  private final @Nullable Integer shareOfHeap;
  private final @Nullable ReadTotal hits;
  private final @Nullable ReadTotal misses;
  private final List<WeakReference<BoundedCache<?, ?>>> caches = new CopyOnWriteArrayList<>();

  /**
   * @param shareOfHeap how many times as much the heap is; null where it does not bound the cache
   * @param hits null where they are not counted
   */
  CacheKind(
      String label,
      @Nullable Integer shareOfHeap,
      @Nullable ReadTotal hits,
      @Nullable ReadTotal misses) {
    this.label = label;
    this.shareOfHeap = shareOfHeap;
    this.hits = hits;
    this.misses = misses;
  }

  /** The name by which people know it. */
  public String label() {
    return label;
  }

  /** Takes a cache in, for as long as somebody else holds it. */
  void add(BoundedCache<?, ?> cache) {
    caches.removeIf(each -> each.get() == null);
    caches.add(new WeakReference<>(cache));
  }

  /** The part of the heap of this process in bytes; 0 where it is not what bounds the cache. */
  public long bytesOfHeap() {
    return shareOfHeap == null ? 0 : Runtime.getRuntime().maxMemory() / shareOfHeap;
  }

  /** The bytes that the values may have; a cache that nobody has asked yet counts as well. */
  public long mostBytes() {
    return Math.max(bytesOfHeap(), sum(BoundedCache::mostBytes));
  }

  /** About how many bytes are kept. */
  public long bytes() {
    return sum(BoundedCache::bytes);
  }

  /** The number of values that are kept. */
  public long size() {
    return sum(BoundedCache::size);
  }

  /** The questions so far that a value answered; null where they are not counted. */
  public @Nullable Long hits() {
    return hits == null ? null : hits.value();
  }

  /** The questions so far that none answered; null where they are not counted. */
  public @Nullable Long misses() {
    return misses == null ? null : misses.value();
  }

  /** Counts a question that a value answered, or did not. */
  void count(boolean isHit) {
    ReadTotal total = isHit ? hits : misses;
    if (total != null) {
      total.add(1);
    }
  }

  private long sum(ToLongFunction<BoundedCache<?, ?>> number) {
    return caches.stream().map(WeakReference::get).filter(Objects::nonNull).mapToLong(number).sum();
  }
}
