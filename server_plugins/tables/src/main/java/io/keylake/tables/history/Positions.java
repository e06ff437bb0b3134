package io.keylake.tables.history;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;

import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.SortedMap;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.jspecify.annotations.Nullable;

/**
 * The positions of readers, by their names, kept as properties of the table: consumers of the
 * change feed as snapshot ids, triggers as points in time. A position moves only from where whoever
 * moves it believes it to be, so that two of one name do not both do the same work.
 */
public final class Positions {
  private static final Pattern NAME = Pattern.compile("[A-Za-z0-9_.-]{1,100}");
  private static final int MOST_ATTEMPTS = 100;

  private final Table table;
  private final Kind kind;

  /** The kinds of readers that have a position. */
  public enum Kind {
    CONSUMER("keylake.consumer."),
    TRIGGER("keylake.trigger.");

    private final String prefix;

    Kind(String prefix) {
      this.prefix = prefix;
    }
  }

  public Positions(Table table, Kind kind) {
    this.table = table;
    this.kind = kind;
  }

  /** A property is the position of a reader. */
  public static boolean isOne(String property) {
    return Stream.of(Kind.values()).anyMatch(kind -> property.startsWith(kind.prefix));
  }

  public SortedMap<String, Long> all() {
    SortedMap<String, Long> all = new TreeMap<>();
    table
        .properties()
        .forEach(
            (name, value) -> {
              if (name.startsWith(kind.prefix)) {
                all.put(name.substring(kind.prefix.length()), Long.valueOf(value));
              }
            });
    return all;
  }

  /**
   * Moves a position.
   *
   * @param from where it is; null for one that is not there yet
   * @param to null to forget it
   */
  public void move(String name, @Nullable Long from, @Nullable Long to) {
    if (!NAME.matcher(name).matches()) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' cannot be a name; take up to 100 letters, digits, '_', '-' and '.'"
              .formatted(name));
    }
    TableOperations operations =
        CertainOperations.of(((HasTableOperations) table).operations(), table.name());
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      TableMetadata base = operations.refresh();
      String stored = base.properties().get(kind.prefix + name);
      Long now = stored == null ? null : Long.valueOf(stored);
      if (!Objects.equals(now, from) || (now == null && to == null)) {
        throw moved(name, from, now);
      }
      Map<String, String> properties = new LinkedHashMap<>(base.properties());
      if (to == null) {
        properties.remove(kind.prefix + name);
      } else {
        properties.put(kind.prefix + name, String.valueOf(to));
      }
      try {
        operations.commit(base, base.replaceProperties(properties));
        Backoff.look(table);
        return;
      } catch (CommitFailedException e) {
        // somebody else was faster; look again
      }
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "the position of '%s' on %s lost against other commits %d times; try again"
            .formatted(name, table.name(), MOST_ATTEMPTS));
  }

  private KeylakeException moved(String name, @Nullable Long from, @Nullable Long now) {
    String what = kind.name().toLowerCase(Locale.ROOT);
    return now == null
        ? new KeylakeException(
            NOT_FOUND, "table %s has no %s '%s'".formatted(table.name(), what, name))
        : new KeylakeException(
            COMMIT_CONFLICT,
            "%s '%s' of %s stands at %d, not at %s: another one of that name has moved it; begin again from there"
                .formatted(what, name, table.name(), now, from));
  }

  /**
   * A reader, and the commit that it has still to go on from: that one and younger ones must not
   * expire.
   */
  public record Place(String name, Snapshot at) {}

  /** The consumer that is furthest behind; empty where there is none. */
  public static Optional<Place> slowestConsumer(Table table) {
    return new Positions(table, Kind.CONSUMER).slowest();
  }

  private Optional<Place> slowest() {
    Place slowest = null;
    for (Map.Entry<String, Long> each : all().entrySet()) {
      long position = each.getValue();
      Snapshot at = position == CommitRange.BEGINNING ? first() : table.snapshot(position);
      if (at != null && (slowest == null || at.timestampMillis() < slowest.at.timestampMillis())) {
        slowest = new Place(each.getKey(), at);
      }
    }
    return Optional.ofNullable(slowest);
  }

  private @Nullable Snapshot first() {
    Snapshot first = null;
    for (Snapshot each : table.snapshots()) {
      first = first == null || each.timestampMillis() < first.timestampMillis() ? each : first;
    }
    return first;
  }

  /** Snapshots from this time on must not expire; {@link Long#MAX_VALUE} where all may. */
  public static long fenceMillis(Table table) {
    return slowestConsumer(table).map(each -> each.at.timestampMillis()).orElse(Long.MAX_VALUE);
  }
}
