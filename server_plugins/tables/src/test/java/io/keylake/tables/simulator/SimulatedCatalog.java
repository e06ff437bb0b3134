package io.keylake.tables.simulator;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.apache.iceberg.BaseMetastoreTableOperations;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ServiceFailureException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.shaded.com.fasterxml.jackson.core.JsonProcessingException;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.JsonNode;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.ObjectMapper;
import org.apache.iceberg.shaded.com.fasterxml.jackson.databind.node.ObjectNode;
import org.jspecify.annotations.Nullable;

/**
 * A catalog of one table: the location of its metadata, which a commit replaces if nobody else has.
 * Its faults are those of a script:
 *
 * <ul>
 *   <li>A commit is not made, is made and fails, or is made later than its failure is told.
 *   <li>A stale answer is never older than what the same client has seen, or has sent a commit
 *       upon: a catalog that forgets would make the outcome of no commit knowable.
 * </ul>
 *
 * <p>Iceberg stamps what it makes with the clock of the real machine. So each commit is stamped
 * with the clock of its server as it is sent.
 */
final class SimulatedCatalog {
  private static final ObjectMapper JSON = new ObjectMapper();
  private static final long MOST_BEHIND_MILLIS = 60_000;
  static final String NAME = "shop.orders";

  /** Hears of each commit that is taken, before anybody can read it. */
  interface Taken {
    void taken(@Nullable Actor by, @Nullable TableMetadata before, TableMetadata after);
  }

  private record Sent(@Nullable Actor by, @Nullable String before, String after) {}

  private final SimulatedStore store;
  private final Turns turns;
  private final Taken taken;
  private final Runnable afterwards;
  private final List<String> locations = new ArrayList<>(); // all that were ever taken
  private final List<Sent> late = new ArrayList<>();
  private final Map<String, JsonNode> parsed = new HashMap<>(); // metadata by location
  private @Nullable TableMetadata now;

  /**
   * @param afterwards is run when a commit can be read
   */
  SimulatedCatalog(SimulatedStore store, Turns turns, Taken taken, Runnable afterwards) {
    this.store = store;
    this.turns = turns;
    this.taken = taken;
    this.afterwards = afterwards;
  }

  /** What the table is. */
  TableMetadata now() {
    return Objects.requireNonNull(now, "the table was created");
  }

  /** The table as an actor reaches it, with a client of its own; null is never disturbed. */
  BaseTable openedBy(@Nullable Actor actor) {
    return new BaseTable(new Operations(actor), NAME);
  }

  void create(TableMetadata metadata) {
    new Operations(null).commit(null, metadata);
  }

  /** Takes the commits that are still on their way. */
  void settle() {
    List<Sent> all = new ArrayList<>(late);
    late.clear();
    all.forEach(this::swap);
  }

  private boolean swap(Sent sent) {
    String current = locations.isEmpty() ? null : locations.get(locations.size() - 1);
    if (!Objects.equals(current, sent.before())) {
      return false;
    }
    TableMetadata next = read(store.reachedBy(null), sent.after());
    TableMetadata before = now;
    taken.taken(sent.by(), before, next);
    locations.add(sent.after());
    now = next;
    afterwards.run();
    return true;
  }

  /** Metadata of its own for each who reads, since snapshots keep what they have opened. */
  private TableMetadata read(FileIO files, String location) {
    try (InputStream in = files.newInputFile(location).newStream()) {
      return TableMetadataParser.fromJson(location, parsed.get(location));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private final class Operations extends BaseMetastoreTableOperations {
    private final @Nullable Actor actor;
    private final FileIO files;
    private int seen;
    private @Nullable TableMetadata stamped; // sent once more, it has the time of the first
    private long stampedMillis;

    Operations(@Nullable Actor actor) {
      this.actor = actor;
      this.files = store.reachedBy(actor);
    }

    @Override
    protected String tableName() {
      return NAME;
    }

    @Override
    public FileIO io() {
      return files;
    }

    @Override
    protected void doRefresh() {
      Event.What fault = actor == null ? null : actor.call(Call.REFRESH);
      if (fault == Event.What.FAIL) {
        throw new ServiceFailureException("simulated: the catalog does not answer");
      }
      int at = locations.size() - 1;
      if (at < 0) {
        refreshFromMetadataLocation(null, 0); // the table is not there yet
        return;
      }
      if (fault == Event.What.STALE && seen < at) {
        at = seen + (at - seen) / 2;
        at = store.files.containsKey(locations.get(at)) ? at : locations.size() - 1;
      }
      seen = Math.max(seen, at);
      refreshFromMetadataLocation(locations.get(at), null, 0, path -> read(files, path));
    }

    @Override
    protected void doCommit(@Nullable TableMetadata base, TableMetadata metadata) {
      String before = base == null ? null : base.metadataFileLocation();
      String after = write(base, metadata);
      Sent sent = new Sent(actor, before, after);
      Event.What fault = actor == null ? null : actor.call(Call.COMMIT);
      seen = Math.max(seen, locations.size() - 1);
      if (fault == Event.What.FAIL) {
        throw new IllegalStateException("simulated: the connection was reset");
      }
      if (fault == Event.What.BUSY) {
        throw new ServiceUnavailableException("simulated: the catalog is busy");
      }
      if (fault == Event.What.LATE) {
        late.add(sent);
        throw new CommitStateUnknownException(new IllegalStateException("simulated: no answer"));
      }
      boolean isTaken = swap(sent);
      seen = Math.max(seen, locations.size() - 1);
      if (!isTaken || fault == Event.What.CONFLICT) {
        throw new CommitFailedException("simulated: somebody else was faster");
      }
      if (fault == Event.What.LOST) {
        throw new CommitStateUnknownException(new IllegalStateException("simulated: no answer"));
      }
    }

    private String write(@Nullable TableMetadata base, TableMetadata metadata) {
      if (metadata != stamped) {
        stamped = metadata;
        stampedMillis = turns.millis() + (actor == null ? 0 : actor.server.aheadMillis);
      }
      if (base != null && base.lastUpdatedMillis() > stampedMillis + MOST_BEHIND_MILLIS) {
        throw new IllegalArgumentException("simulated: Invalid update timestamp");
      }
      int version = base == null ? 0 : versionOf(base.metadataFileLocation()) + 1;
      String location =
          metadataFileLocation(
              metadata,
              String.format(
                  Locale.ROOT, "%05d-%s%s", version, UUID.randomUUID(), ".metadata.json"));
      JsonNode json = stamped(metadata, stampedMillis);
      parsed.put(location, json);
      try (OutputStream out = files.newOutputFile(location).create()) {
        out.write(json.toString().getBytes(StandardCharsets.UTF_8));
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
      return location;
    }
  }

  private static int versionOf(String location) {
    String name = location.substring(location.lastIndexOf('/') + 1);
    return Integer.parseInt(name.substring(0, name.indexOf('-')));
  }

  /** The metadata as JSON, with the time of a server in all that the real clock has stamped. */
  private static JsonNode stamped(TableMetadata metadata, long millis) {
    try {
      ObjectNode json = (ObjectNode) JSON.readTree(TableMetadataParser.toJson(metadata));
      json.put("last-updated-ms", millis);
      for (String list : List.of("snapshots", "snapshot-log")) {
        for (JsonNode each : json.path(list)) {
          if (each.path("timestamp-ms").longValue() > Simulation.END.toEpochMilli()) {
            ((ObjectNode) each).put("timestamp-ms", millis);
          }
        }
      }
      return json;
    } catch (JsonProcessingException e) {
      throw new UncheckedIOException(e);
    }
  }
}
