package io.keylake.spark.rest;

import com.google.common.hash.Hashing;
import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.Request;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.ReadTotal;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.CacheKind;
import io.keylake.tables.catalogs.PointerCatalog;
import io.keylake.tables.spec.TableSpec;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.Locale;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.rest.CatalogHandlers;
import org.apache.iceberg.rest.RESTCatalogProperties.SnapshotMode;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.apache.iceberg.rest.responses.LoadTableResponseParser;
import org.jspecify.annotations.Nullable;

/**
 * Answers to clients that load tables. A file of metadata never changes, so what was answered once
 * of one is kept, within bytes; the catalog is asked each time which one is the newest.
 */
final class LoadedTables {
  private static final int BYTES_OF_ENTRY = 200;

  /** The part of all bytes that may say which metadata is of a keyed table. */
  private static final int PART_OF_KEYED = 16;

  private final KeyedTables keyed;

  /** Answers in JSON, by their tags. */
  private final BoundedCache<String, String> answers;

  /** The UUIDs of keyed tables by the locations of their metadata; empty for other tables. */
  private final BoundedCache<String, Optional<UUID>> uuids;

  /**
   * @param keyed what clients that do not merge load of keyed tables
   * @param mostBytes that answers may have
   */
  LoadedTables(KeyedTables keyed, long mostBytes) {
    this.keyed = keyed;
    this.answers =
        new BoundedCache<String, String>(
                mostBytes, (tag, answer) -> 2L * answer.length() + BYTES_OF_ENTRY)
            .listed(CacheKind.CATALOG_ANSWERS);
    this.uuids =
        new BoundedCache<>(
            mostBytes / PART_OF_KEYED, (location, uuid) -> 2L * location.length() + BYTES_OF_ENTRY);
  }

  Answer load(Call call) {
    SnapshotMode mode = snapshots(call);
    try {
      return loaded(call, mode);
    } catch (NoSuchTableException e) {
      return ofRef(call, KeyedGuard.ref(call, call.table()).orElseThrow(() -> e), mode);
    } catch (RuntimeException e) {
      throw StoreFailure.loading(call.table().toString(), e);
    }
  }

  /** The merged state of a branch or tag, which is named as part of the table. */
  private Answer ofRef(Call call, TableRef ref, SnapshotMode mode) {
    if (call.asOf() != null) {
      throw RequestRefused.bad(
          "%s and branch or tag '%s' of table %s name two states; leave one of them out"
              .formatted(Request.AS_OF, ref.ref(), ref.table()));
    }
    try {
      Table table = call.catalog().loadTable(ref.table());
      ref.check(table);
      return answer(call, mode, keyed.load(table.uuid(), ref.ref(), () -> table, call.freshness()));
    } catch (RuntimeException e) {
      throw StoreFailure.loading(ref.table().toString(), e);
    }
  }

  private Answer loaded(Call call, SnapshotMode mode) {
    String location = newest(call);
    Optional<UUID> uuid = location == null ? null : uuids.of(location);
    if (location != null && uuid != null) {
      Answer known =
          isStored(call, uuid)
              ? known(call, tag(call, location, mode))
              : state(call, uuid.get(), mode);
      if (known != null) {
        return known;
      }
    }
    LoadTableResponse read = CatalogHandlers.loadTable(call.catalog(), call.table(), mode);
    Optional<UUID> found = uuid(read.tableMetadata());
    uuids.keep(read.metadataLocation(), found);
    return isStored(call, found) ? answer(call, mode, read) : state(call, found.get(), mode);
  }

  /** The client gets the metadata that the catalog has. */
  private static boolean isStored(Call call, Optional<UUID> uuid) {
    return uuid.isEmpty() || call.request().isOfMergingClient();
  }

  /** The location of the newest metadata; null where the catalog does not say it by itself. */
  private static @Nullable String newest(Call call) {
    return call.catalog() instanceof PointerCatalog pointers
        ? pointers.metadataLocation(call.table()).orElse(null)
        : null;
  }

  private static Optional<UUID> uuid(TableMetadata table) {
    return table.properties().containsKey(TableSpec.PROPERTY)
        ? Optional.of(UUID.fromString(table.uuid()))
        : Optional.empty();
  }

  /** The merged state of a keyed table, or an archived one. */
  private Answer state(Call call, UUID uuid, SnapshotMode mode) {
    Supplier<Table> newest = () -> call.catalog().loadTable(call.table());
    return answer(call, mode, keyed.load(uuid, archived(call, newest), newest, call.freshness()));
  }

  /** The branch of the archived state that a client asks for; null where it asks for none. */
  static @Nullable String archived(Call call, Supplier<Table> table) {
    Instant time = call.asOf();
    return time == null ? null : new HistoryBranches(table.get()).at(time).branch();
  }

  /** The answer of metadata, if the client or this server has it already; else null. */
  private @Nullable Answer known(Call call, String tag) {
    boolean isOfClient = call.request().tags().contains(tag);
    String kept = isOfClient ? null : answers.of(tag);
    if (!isOfClient && kept == null) {
      return null;
    }
    ReadTotal.LOAD_HITS.add(1);
    return new Answer(isOfClient ? 304 : 200, kept, tag);
  }

  /** The answer of metadata that was read. A later one may be the newest meanwhile. */
  private Answer answer(Call call, SnapshotMode mode, LoadTableResponse read) {
    String tag = tag(call, place(call, read), mode);
    Answer known = known(call, tag);
    if (known != null) {
      return known;
    }
    ReadTotal.LOAD_MISSES.add(1);
    String json = LoadTableResponseParser.toJson(read);
    answers.keep(tag, json);
    return new Answer(200, json, tag);
  }

  /**
   * The location of metadata; in a catalog that numbers its files, a table that was dropped and
   * made again has the same ones, so that the table and the time of its change belong to it there.
   */
  private static String place(Call call, LoadTableResponse read) {
    String location = Objects.requireNonNull(read.metadataLocation(), "a table has metadata");
    TableMetadata table = read.tableMetadata();
    return call.catalog() instanceof PointerCatalog
        ? location
        : location + '\n' + table.uuid() + '\n' + table.lastUpdatedMillis();
  }

  /** Metadata is never written again at its place, and what is given of it depends on who asks. */
  private static String tag(Call call, String place, SnapshotMode mode) {
    String whole = place + '\n' + mode + '\n' + call.request().isOfMergingClient();
    return '"' + Hashing.sha256().hashString(whole, StandardCharsets.UTF_8).toString() + '"';
  }

  private static SnapshotMode snapshots(Call call) {
    String mode = call.request().parameter("snapshots").orElse("all");
    return switch (mode.toLowerCase(Locale.ROOT)) {
      case "all" -> SnapshotMode.ALL;
      case "refs" -> SnapshotMode.REFS;
      default -> throw RequestRefused.bad("snapshots=%s is neither all nor refs".formatted(mode));
    };
  }
}
