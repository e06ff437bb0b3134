package io.keylake.spark.rest;

import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import io.keylake.tables.storage.Placement;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.UpdateRequirement;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.Catalog.TableBuilder;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.rest.requests.CreateTableRequest;
import org.apache.iceberg.rest.requests.RegisterTableRequest;
import org.apache.iceberg.rest.requests.UpdateTableRequest;

/**
 * Keeps keyed tables from clients that do not merge: such a client would add rows without versions,
 * or files that are not sorted. A client that merges has checks of its own.
 */
final class KeyedGuard {
  private static final String INSTEAD = "use keylake, or Spark with its plug-in";

  private static final int LEAST_FORMAT_VERSION = 1;

  private KeyedGuard() {}

  /**
   * Refuses a change of a keyed table.
   *
   * @param change what the client wants, behind "cannot be"
   */
  static void checkChange(Call call, TableIdentifier name, String change) {
    if (keyed(call, name).isPresent()) {
      throw RequestRefused.forbidden(
          "table %s is keyed, and cannot be %s by an engine that does not know its versions; %s"
              .formatted(name, change, INSTEAD));
    }
  }

  /** The table, if it is keyed and the client does not merge. */
  static Optional<Table> keyed(Call call, TableIdentifier name) {
    return call.request().isOfMergingClient()
        ? Optional.empty()
        : found(call.catalog(), name).filter(KeyedSchema::isKeyed);
  }

  /**
   * The branch or tag of a keyed table that a client means by the name of a table that is not
   * there; empty where it merges, and where there is no such keyed table.
   */
  static Optional<TableRef> ref(Call call, TableIdentifier name) {
    return TableRef.of(name).filter(each -> keyed(call, each.table()).isPresent());
  }

  /** Refuses to make a table keyed that is created, or that is there. */
  static void checkProperties(Call call, TableIdentifier name, Map<String, String> properties) {
    if (!call.request().isOfMergingClient() && properties.containsKey(TableSpec.PROPERTY)) {
      throw RequestRefused.forbidden(
          "table %s cannot get the property %s from an engine that does not know keyed tables; leave it out, or %s"
              .formatted(name, TableSpec.PROPERTY, INSTEAD));
    }
  }

  /** Refuses a commit that makes a table keyed, or that its format version cannot have. */
  static void checkCommit(Call call, TableIdentifier name, UpdateTableRequest commit) {
    for (MetadataUpdate update : commit.updates()) {
      if (update instanceof MetadataUpdate.AddSchema added) {
        Messages.checkSchema(added.schema(), formatVersion(call, name, commit));
      }
    }
    for (MetadataUpdate update : commit.updates()) {
      if (update instanceof MetadataUpdate.SetProperties set) {
        checkProperties(call, name, set.updated());
      }
    }
    if (call.request().isOfMergingClient()) {
      return;
    }
    if (commit.requirements().stream()
        .anyMatch(UpdateRequirement.AssertTableDoesNotExist.class::isInstance)) {
      checkName(call, name);
    }
    checkPlaces(call, name, commit.updates());
  }

  /** A commit that names no place costs no look at the table. */
  private static void checkPlaces(Call call, TableIdentifier name, List<MetadataUpdate> updates) {
    String moved = null;
    Map<String, String> properties = new HashMap<>();
    for (MetadataUpdate update : updates) {
      if (update instanceof MetadataUpdate.SetLocation set) {
        moved = set.location();
      }
      if (update instanceof MetadataUpdate.SetProperties set) {
        properties.putAll(set.updated());
      }
    }
    if (moved == null && Collections.disjoint(properties.keySet(), Placement.FOLDERS)) {
      return;
    }
    Table table = foundOrStaged(call.catalog(), name);
    Placement placement = placement(call, name, table.io());
    if (moved != null) {
      checkLocation(placement, moved);
    }
    checkFolders(placement, moved == null ? table.location() : moved, properties);
  }

  /** Refuses a table by whose name engines mean a branch or tag of a keyed one. */
  static void checkName(Call call, TableIdentifier name) {
    ref(call, name)
        .ifPresent(
            each -> {
              throw RequestRefused.forbidden(
                  "a table %s would hide %s '%s' of the keyed table %s, which engines name so; take another name"
                      .formatted(name, each.isTag() ? "tag" : "branch", each.ref(), each.table()));
            });
  }

  /**
   * Refuses a table outside the warehouse, in the folder of another one, or around one: the
   * cleaning of a keyed table removes files in its folder that are not its own.
   */
  static void checkPlace(Call call, TableIdentifier name, CreateTableRequest request) {
    if (!call.request().isOfMergingClient()) {
      checkName(call, name);
      TableBuilder builder = call.catalog().buildTable(name, new Schema()); // nothing is stored
      Table staged = builder.withLocation(request.location()).createTransaction().table();
      Placement placement = placement(call, name, staged.io());
      checkLocation(placement, staged.location());
      checkFolders(placement, staged.location(), request.properties());
    }
  }

  /** The version that the table has after the commit; a commit that makes a table says it. */
  private static int formatVersion(Call call, TableIdentifier name, UpdateTableRequest commit) {
    Stream<Integer> asked =
        commit.updates().stream()
            .filter(MetadataUpdate.UpgradeFormatVersion.class::isInstance)
            .map(each -> ((MetadataUpdate.UpgradeFormatVersion) each).formatVersion());
    Stream<Integer> there = found(call.catalog(), name).map(TableUtil::formatVersion).stream();
    return Stream.concat(asked, there).max(Comparator.naturalOrder()).orElse(LEAST_FORMAT_VERSION);
  }

  private static Placement placement(Call call, TableIdentifier name, FileIO io) {
    return new Placement(name.toString(), io, call.warehouse());
  }

  private static void checkLocation(Placement placement, String location) {
    placement.checkNotAroundWarehouse(location).checkInWarehouse(location).checkApart(location);
  }

  private static void checkFolders(
      Placement placement, String location, Map<String, String> properties) {
    Placement.FOLDERS.forEach(name -> placement.checkFolder(location, properties.get(name)));
  }

  /** Refuses to register a keyed table, or another one in its place. */
  static void checkRegistered(Call call, TableIdentifier name, RegisterTableRequest request) {
    if (!call.request().isOfMergingClient()) {
      checkChange(call, name, "replaced");
      checkName(call, name);
      FileIO io = foundOrStaged(call.catalog(), name).io();
      TableMetadata metadata = registered(io, name, request);
      checkProperties(call, name, metadata.properties());
      new Placement(name.toString(), io, null).checkNoState(metadata);
    }
  }

  private static TableMetadata registered(
      FileIO io, TableIdentifier name, RegisterTableRequest request) {
    try {
      return TableMetadataParser.read(io, request.metadataLocation());
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name.toString(), e);
    }
  }

  /** A table that is there, or as it would be made. */
  private static Table foundOrStaged(Catalog catalog, TableIdentifier name) {
    return found(catalog, name)
        .orElseGet(
            () -> // nothing is stored
            catalog.buildTable(name, new Schema()).createTransaction().table());
  }

  private static Optional<Table> found(Catalog catalog, TableIdentifier name) {
    try {
      return Optional.of(catalog.loadTable(name));
    } catch (NoSuchTableException e) {
      return Optional.empty(); // the handler says so
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name.toString(), e);
    }
  }
}
