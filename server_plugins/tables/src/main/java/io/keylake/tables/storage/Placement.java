package io.keylake.tables.storage;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.FileInfo;
import org.jspecify.annotations.Nullable;

/**
 * The places where a table may lie: not inside the folder of another table, nor around one. What
 * lies in the store tells it, since tables of other catalogs and dropped ones have their files
 * there, too.
 */
public final class Placement {
  /** The properties of a table that name folders besides its location. */
  @SuppressWarnings("deprecation") // tables still have the two names that Iceberg has replaced
  public static final Set<String> FOLDERS =
      Set.of(
          TableProperties.WRITE_DATA_LOCATION,
          TableProperties.WRITE_METADATA_LOCATION,
          TableProperties.OBJECT_STORE_PATH,
          TableProperties.WRITE_FOLDER_STORAGE_LOCATION);

  private final String table;
  private final @Nullable Folders folders; // null where the store cannot be listed
  private final @Nullable String warehouse; // null where the catalog does not say a folder

  /**
   * @param table its name, for messages
   * @param warehouse the catalog's property of that name; not always a folder
   */
  public Placement(String table, FileIO io, @Nullable String warehouse) {
    this.table = table;
    this.folders = Folders.in(io).orElse(null);
    this.warehouse = warehouse != null && warehouse.contains("/") ? warehouse : null;
  }

  public static boolean isWithin(String folder, String location) {
    return Place.of(folder).holds(Place.of(location));
  }

  /** Refuses a location outside the warehouse, and the warehouse itself. */
  public Placement checkInWarehouse(String location) {
    if (warehouse != null) {
      Place whole = Place.of(warehouse);
      Place place = Place.of(location);
      if (!whole.holds(place) || whole.isSame(place)) {
        throw refused(location, "does not lie inside the warehouse, " + warehouse);
      }
    }
    return this;
  }

  /** Refuses a location that holds the whole warehouse. */
  public Placement checkNotAroundWarehouse(String location) {
    if (warehouse != null && Place.of(location).holds(Place.of(warehouse))) {
      throw refused(location, "holds the whole warehouse, " + warehouse);
    }
    return this;
  }

  /** Refuses a location inside the folder of another table, or around one. */
  public Placement checkApart(String location) {
    if (folders != null) {
      folders
          .tableAbove(location)
          .ifPresent(
              above -> {
                throw refused(location, "lies inside the folder of a table, " + above.location());
              });
      tableBelow(folders, location)
          .ifPresent(
              below -> {
                throw refused(location, "has the folder of a table inside, " + below.location());
              });
    }
    return this;
  }

  /**
   * Refuses a table whose metadata are those of a merged state: it would have the files of a keyed
   * table, and delete them.
   */
  public Placement checkNoState(TableMetadata metadata) {
    Stream.concat(
            Stream.of(metadata.location(), metadata.metadataFileLocation()),
            metadata.snapshots().stream().map(Snapshot::manifestListLocation))
        .filter(Objects::nonNull)
        .flatMap(file -> StatesFolder.tableOf(Place.written(file)).stream())
        .distinct()
        .filter(keyed -> folders == null || folders.hasTable(keyed))
        .findFirst()
        .ifPresent(
            keyed -> {
              throw new KeylakeException(
                  DEFINITION,
                  "table %s would have the files of the keyed table in %s, of which the metadata are a merged state, and would delete them; copy the rows (CREATE TABLE ... AS SELECT)"
                      .formatted(table, keyed.location()));
            });
    return this;
  }

  /** Refuses the folder of a table, of any catalog, as the location of a new one. */
  public Placement checkFree(String location) {
    if (isTaken(location)) {
      throw refused(location, "is the folder of a table");
    }
    return this;
  }

  /**
   * Refuses a folder besides the location of a table that is not the table's own, as {@link
   * #FOLDERS} name it.
   */
  public void checkFolder(String location, @Nullable String folder) {
    if (folder != null && !isWithin(location, folder)) {
      checkInWarehouse(folder).checkFree(folder).checkApart(folder);
    }
  }

  /**
   * A location for a new table whose user named none: the default, or, where a table has its files
   * there (it was renamed or dropped, or another catalog has it), a folder beside.
   */
  public String free(String byDefault) {
    return isTaken(byDefault)
        ? byDefault + "-" + UUID.randomUUID().toString().substring(0, 8)
        : byDefault;
  }

  private boolean isTaken(String location) {
    return folders != null && folders.hasTable(Place.of(location));
  }

  /** The folder of a table that lies below a location. */
  public Optional<String> folderBelow(String location) {
    return folders == null ? Optional.empty() : tableBelow(folders, location).map(Place::location);
  }

  /** A merged state of the table is a copy, and goes with it. */
  private static Optional<Place> tableBelow(Folders folders, String location) {
    Place own = Place.written(location);
    try (Stream<FileInfo> files = folders.files(own.location())) {
      return files
          .flatMap(file -> Folders.describedBy(Place.written(file.location())).stream())
          .filter(described -> !described.isSame(own) && !StatesFolder.isState(described, own))
          .findFirst();
    }
  }

  private KeylakeException refused(String location, String why) {
    return new KeylakeException(
        DEFINITION,
        "location %s of table %s %s; take another name or LOCATION (a table that was dropped leaves its files until they are removed)"
            .formatted(location, table, why));
  }
}
