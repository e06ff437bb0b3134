package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.SpecJson;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The event times up to which the streams of a branch are complete. Once a write has carried a
 * watermark, commits say in their summaries what is known of all streams, so that old ones may
 * expire; what is known is the largest that any commit says, so that it never goes back.
 *
 * @param byStream microseconds; a write without a stream stands under the empty name
 */
public record Watermarks(SortedMap<String, Long> byStream) {
  public static final String PROPERTY = "keylake.watermarks";

  private static final Watermarks NONE = new Watermarks(new TreeMap<>());

  public Watermarks {
    byStream = Collections.unmodifiableSortedMap(new TreeMap<>(byStream));
  }

  /** The watermark of one write. */
  public static Watermarks of(@Nullable String stream, long micros) {
    return new Watermarks(new TreeMap<>(Map.of(stream == null ? "" : stream, micros)));
  }

  /** The watermarks that are known after some commits. */
  public static Watermarks of(Iterable<Snapshot> commits) {
    Watermarks known = NONE;
    for (Snapshot commit : commits) {
      known = known.and(of(commit));
    }
    return known;
  }

  /** The watermarks that are known where a branch stands. */
  public static Watermarks of(Table table, @Nullable Long head) {
    List<Snapshot> commits = oldestFirst(table, head);
    boolean isLost =
        !commits.isEmpty()
            && !WriteSummary.isFirst(commits.get(0))
            && commits.stream().noneMatch(WriteSummary::isOwn);
    if (isLost) {
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "how far the streams of %s are complete cannot be told: the commits that said so have expired, and commit %d of another engine has not carried it on; write with a watermark to say it again"
              .formatted(table.name(), commits.get(0).snapshotId()));
    }
    return of(commits);
  }

  /** The watermarks that the commits which are kept say, though others may have said more. */
  public static Watermarks said(Table table, @Nullable Long head) {
    return of(oldestFirst(table, head));
  }

  /** The first that each stream has said, as far as its commits are still there. */
  public static SortedMap<String, Long> firstOfEach(Table table, @Nullable Long head) {
    SortedMap<String, Long> first = new TreeMap<>();
    for (Snapshot commit : oldestFirst(table, head)) {
      of(commit).byStream.forEach(first::putIfAbsent);
    }
    return first;
  }

  private static List<Snapshot> oldestFirst(Table table, @Nullable Long head) {
    List<Snapshot> commits = new ArrayList<>();
    if (head != null) {
      SnapshotUtil.ancestorsOf(head, table::snapshot).forEach(commits::add);
    }
    Collections.reverse(commits);
    return commits;
  }

  /** The watermarks that one commit says. */
  static Watermarks of(Snapshot commit) {
    return parse(commit.summary().get(PROPERTY));
  }

  /** The watermarks that a commit says; null where it says nothing. */
  public static Watermarks parse(@Nullable String json) {
    if (json == null) {
      return NONE;
    }
    SortedMap<String, Long> said = new TreeMap<>();
    SpecJson.parse(json)
        .properties()
        .forEach(each -> said.put(each.getKey(), each.getValue().asLong()));
    return new Watermarks(said);
  }

  public Watermarks and(Watermarks other) {
    if (other.byStream.isEmpty()) {
      return this;
    }
    SortedMap<String, Long> both = new TreeMap<>(byStream);
    other.byStream.forEach((stream, micros) -> both.merge(stream, micros, Math::max));
    return new Watermarks(both);
  }

  /** The properties by which a commit says them; nothing where nothing is known. */
  public Map<String, String> properties() {
    return byStream.isEmpty() ? Map.of() : Map.of(PROPERTY, SpecJson.write(byStream));
  }

  /**
   * The time up to which a stream is complete, or all that are known.
   *
   * @param stream null for all
   * @return null where nothing is known
   */
  public @Nullable Long reached(@Nullable String stream) {
    return stream == null
        ? byStream.values().stream().min(Long::compare).orElse(null)
        : byStream.get(stream);
  }

  /**
   * The first commit with which a stream, or all streams that are known today, had come to a time.
   *
   * @param stream null for all
   */
  public static Snapshot first(
      Table table, @Nullable Long head, long micros, @Nullable String stream) {
    Watermarks today = of(table, head);
    Watermarks known = NONE;
    for (Snapshot commit : oldestFirst(table, head)) {
      known = known.and(of(commit));
      Long reached = known.reached(stream);
      boolean isOfAll = stream != null || known.byStream.keySet().equals(today.byStream.keySet());
      if (isOfAll && reached != null && reached >= micros) {
        return commit;
      }
    }
    throw new KeylakeException(
        NOT_FOUND,
        "the watermark of %s%s has not come to %s yet; it stands at %s"
            .formatted(
                table.name(),
                stream == null ? "" : ", stream '" + stream + "',",
                shown(micros),
                today.shown(stream)));
  }

  private String shown(@Nullable String stream) {
    Long reached = reached(stream);
    if (reached == null) {
      return "nothing";
    }
    return stream == null && byStream.size() > 1
        ? "%s, the lowest of the streams %s".formatted(shown(reached), byStream.keySet())
        : shown(reached);
  }

  private static String shown(long micros) {
    return Instant.EPOCH.plus(micros, ChronoUnit.MICROS).toString();
  }
}
