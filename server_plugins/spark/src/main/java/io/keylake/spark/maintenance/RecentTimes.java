package io.keylake.spark.maintenance;

import java.time.Instant;
import java.util.LinkedHashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Times by name, of the names that were set last: a server may see any number of tables. */
final class RecentTimes<K> {
  private final Map<K, Instant> times;

  /**
   * @param most how many names are kept
   */
  RecentTimes(int most) {
    times =
        new LinkedHashMap<>() {
          @Override
          protected boolean removeEldestEntry(Map.Entry<K, Instant> eldest) {
            return size() > most;
          }
        };
  }

  /** The time that was set; null where none was, or where that was long ago. */
  @Nullable Instant get(K name) {
    return times.get(name);
  }

  void set(K name, Instant time) {
    times.remove(name); // so that it counts as the latest
    times.put(name, time);
  }

  int size() {
    return times.size();
  }
}
