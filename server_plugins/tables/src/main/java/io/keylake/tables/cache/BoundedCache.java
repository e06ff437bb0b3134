package io.keylake.tables.cache;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.ToLongBiFunction;
import org.jspecify.annotations.Nullable;

/**
 * Values that take long to make and never change: those that were asked for last, within a number
 * of bytes. Safe for several threads, of which two may make the same value.
 *
 * @param <K> says for good which value it is: a file, a snapshot, never a name that may come to
 *     mean something else
 */
public final class BoundedCache<K, V> {
  private final long mostBytes;
  private final ToLongBiFunction<K, V> weight;
  private final Map<K, V> values = new LinkedHashMap<>(16, 0.75f, true);
  private long bytes;
  private @Nullable CacheKind kind;

  /** Makes a value. */
  public interface Maker<V, E extends Exception> {
    V make() throws E;
  }

  /**
   * @param mostBytes that all values may have; one that has more alone is not kept
   * @param weight about how many bytes a value has in memory, its key included; always the same
   */
  public BoundedCache(long mostBytes, ToLongBiFunction<K, V> weight) {
    this.mostBytes = mostBytes;
    this.weight = weight;
  }

  /**
   * Values that may have a share of the heap of this process.
   *
   * @param share how many times as much the heap is
   */
  public static <K, V> BoundedCache<K, V> ofHeap(int share, ToLongBiFunction<K, V> weight) {
    return new BoundedCache<>(Runtime.getRuntime().maxMemory() / share, weight);
  }

  /** Values that may have the share of the heap of their kind. */
  public static <K, V> BoundedCache<K, V> ofHeap(CacheKind kind, ToLongBiFunction<K, V> weight) {
    return new BoundedCache<>(kind.bytesOfHeap(), weight).listed(kind);
  }

  /**
   * This cache, listed among those of its kind. Values that {@link #get} finds or has to make are
   * counted; whoever asks by {@link #of} counts by himself.
   */
  public BoundedCache<K, V> listed(CacheKind listed) {
    kind = listed;
    listed.add(this);
    return this;
  }

  /** The value of a key, or null where it is not kept. */
  public synchronized @Nullable V of(K key) {
    return values.get(key);
  }

  /** The value of a key, made where it is not kept. */
  public <E extends Exception> V get(K key, Maker<V, E> maker) throws E {
    V there = of(key);
    if (kind != null) {
      kind.count(there != null);
    }
    if (there != null) {
      return there;
    }
    V made = maker.make();
    keep(key, made);
    return made;
  }

  /** The keys that are kept and fit a condition, in no order. */
  public synchronized List<K> keys(Predicate<K> fits) {
    return values.keySet().stream().filter(fits).toList();
  }

  public synchronized void keep(K key, V value) {
    long added = weight.applyAsLong(key, value);
    if (added > mostBytes) {
      return;
    }
    V before = values.put(key, value);
    bytes += added - (before == null ? 0 : weight.applyAsLong(key, before));
    Iterator<Map.Entry<K, V>> longestNotAskedFor = values.entrySet().iterator();
    while (bytes > mostBytes) {
      Map.Entry<K, V> oldest = longestNotAskedFor.next();
      bytes -= weight.applyAsLong(oldest.getKey(), oldest.getValue());
      longestNotAskedFor.remove();
    }
  }

  long mostBytes() {
    return mostBytes;
  }

  /** The number of values that are kept. */
  synchronized int size() {
    return values.size();
  }

  /** About how many bytes are kept. */
  public synchronized long bytes() {
    return bytes;
  }
}
