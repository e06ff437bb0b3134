package io.keylake.spark;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.storage.Placement;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog.TableBuilder;
import org.apache.spark.sql.connector.catalog.TableCatalog;
import org.apache.spark.sql.connector.catalog.TableChange;
import org.apache.spark.sql.connector.catalog.TableChange.SetProperty;
import org.apache.spark.sql.util.CaseInsensitiveStringMap;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the folders of a catalog's tables apart. A cleaning tells the files of a table by their
 * place, and some catalogs drop a table by its folder.
 *
 * @param warehouse the catalog's option of that name, or null
 * @param dropsFolders whether a dropped table's folder is deleted, whatever lies in it
 */
record TablePlaces(@Nullable String warehouse, boolean dropsFolders) {
  static TablePlaces of(CaseInsensitiveStringMap options) {
    return new TablePlaces(
        options.get("warehouse"), "hadoop".equalsIgnoreCase(options.get("type")));
  }

  /**
   * A builder that makes a keyed table at a place of its own.
   *
   * @param given the location that the user named, or null
   */
  TableBuilder placed(TableBuilder builder, @Nullable String given) {
    TableBuilder named = given == null ? builder : builder.withLocation(given);
    Table staged = named.createTransaction().table(); // nothing is stored
    Placement placement = placement(staged);
    String location = given == null ? placement.free(staged.location()) : staged.location();
    placement.checkInWarehouse(location).checkFree(location).checkApart(location);
    for (String folder : Placement.FOLDERS) {
      placement.checkFolder(location, staged.properties().get(folder));
    }
    return named.withLocation(location);
  }

  /** A plain table may lie outside the warehouse, and where a dropped one has left its files. */
  void checkPlain(Table staged) {
    placement(staged).checkNotAroundWarehouse(staged.location()).checkApart(staged.location());
  }

  /**
   * Refuses to put a keyed table in the place of one where it could not lie, or to move it.
   *
   * @param properties that the statement gives, with the location that it names, if any
   */
  void checkReplaced(Table table, Map<String, String> properties) {
    String given = properties.get(TableCatalog.PROP_LOCATION);
    boolean isSame =
        given == null
            || (Placement.isWithin(given, table.location())
                && Placement.isWithin(table.location(), given));
    if (!isSame) {
      throw new KeylakeException(
          DEFINITION,
          "table %s lies in %s, and a table that is replaced stays in its place; leave LOCATION '%s' out"
              .formatted(table.name(), table.location(), given));
    }
    Placement placement = placement(table);
    placement.checkInWarehouse(table.location()).checkApart(table.location());
    for (String folder : Placement.FOLDERS) {
      Map<String, String> from = properties.containsKey(folder) ? properties : table.properties();
      placement.checkFolder(table.location(), from.get(folder));
    }
  }

  /** Refuses to move a keyed table to a place that is not its own. */
  void check(Table table, TableChange change) {
    if (!(change instanceof SetProperty set)) {
      return;
    }
    Placement placement = placement(table);
    if (set.property().equals(TableCatalog.PROP_LOCATION)
        && !Placement.isWithin(table.location(), set.value())) {
      placement.checkInWarehouse(set.value()).checkFree(set.value()).checkApart(set.value());
    }
    if (Placement.FOLDERS.contains(set.property())) {
      placement.checkFolder(table.location(), set.value());
    }
  }

  /** Refuses to drop a table whose folder goes with it and has another table inside. */
  void checkDrop(Table table) {
    Optional<String> inside =
        dropsFolders ? placement(table).folderBelow(table.location()) : Optional.empty();
    if (inside.isPresent()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s cannot be dropped: its catalog deletes its folder, and the folder of a table lies inside, %s; drop or move that one first"
              .formatted(table.name(), inside.get()));
    }
  }

  private Placement placement(Table table) {
    return new Placement(table.name(), table.io(), warehouse);
  }
}
