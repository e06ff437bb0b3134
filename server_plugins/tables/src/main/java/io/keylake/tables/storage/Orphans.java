package io.keylake.tables.storage;

import io.keylake.tables.FileNames;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.util.PropertyUtil;
import org.jspecify.annotations.Nullable;

/**
 * The files that a table has in its store and does not know, left by writes that never came to a
 * commit. A file is an orphan only if all of this is so:
 *
 * <ol>
 *   <li>It lies in the table's own folders for data or metadata, by its path and, on a local disk,
 *       by its real path.
 *   <li>It has a name as only Iceberg and keylake give to files of that kind.
 *   <li>It is older than a stated moment, by the clock of the store.
 *   <li>Nothing that the table knows after the files were listed has its name: names are unique, so
 *       that it does not matter how metadata spells the path.
 *   <li>If it is the metadata of a table, then of this one.
 * </ol>
 *
 * <p>Merged states, which no table knows, are orphans with all of their files at once.
 *
 * <p>Where another table lies within or around this one, or shares its folder, nothing is an
 * orphan.
 */
final class Orphans {
  private final Table table;
  private final Folders folders;
  private final Place location;
  private final List<Place> dataFolders;
  private final List<Place> metadataFolders;

  /**
   * The orphans that were found.
   *
   * @param files the locations of the orphans
   * @param obstacle why no file can be proven to be one; null where that is not so
   */
  record OrphanFiles(List<String> files, @Nullable String obstacle) {
    private static OrphanFiles none(@Nullable String obstacle) {
      return new OrphanFiles(List.of(), obstacle);
    }
  }

  private Orphans(Table table, Folders folders) {
    this.table = table;
    this.folders = folders;
    this.location = Place.written(table.location());
    this.dataFolders =
        folders(
            Folders.DATA,
            TableProperties.WRITE_DATA_LOCATION,
            "write.object-storage.path",
            "write.folder-storage.path");
    this.metadataFolders = folders(Folders.METADATA, TableProperties.WRITE_METADATA_LOCATION);
  }

  /** The table's own folders: of those that properties name, the ones in its location. */
  private List<Place> folders(String name, String... properties) {
    List<Place> own = new ArrayList<>();
    own.add(location.child(name));
    for (String property : properties) {
      String said = table.properties().get(property);
      if (said != null && location.holds(Place.written(said))) {
        own.add(Place.written(said));
      }
    }
    return own;
  }

  /** The files that only this table knows are needed by nobody else. */
  static boolean mayDeleteFilesOf(Table table) {
    return PropertyUtil.propertyAsBoolean(
        table.properties(), TableProperties.GC_ENABLED, TableProperties.GC_ENABLED_DEFAULT);
  }

  /** The orphans of a table that the store wrote before a moment. */
  static OrphanFiles find(Table table, Instant before) {
    if (!mayDeleteFilesOf(table)) {
      return OrphanFiles.none(
          "its property %s is false: other tables may use its files"
              .formatted(TableProperties.GC_ENABLED));
    }
    Optional<Folders> folders = Folders.in(table.io());
    return folders
        .map(listed -> new Orphans(table, listed).find(before))
        .orElseGet(
            () ->
                OrphanFiles.none(
                    "its store cannot be listed (%s)".formatted(table.io().getClass().getName())));
  }

  private OrphanFiles find(Instant before) {
    Optional<Place> above = folders.tableAbove(table.location());
    if (above.isPresent()) {
      return OrphanFiles.none(
          "it lies inside the folder of another table, %s".formatted(above.get().location()));
    }
    List<String> candidates = new ArrayList<>();
    List<String> metadata = new ArrayList<>();
    MergedStateFiles states = new MergedStateFiles(table);
    try (Stream<FileInfo> files = folders.files(location.location())) {
      for (FileInfo file : (Iterable<FileInfo>) files::iterator) {
        Place place = Place.written(file.location());
        if (states.take(file, place)) {
          continue;
        }
        Optional<Place> described = Folders.describedBy(place);
        if (described.isPresent() && !described.get().isSame(location)) {
          return OrphanFiles.none(
              "the folder of another table, %s, lies inside its own"
                  .formatted(described.get().location()));
        }
        if (described.isPresent()) {
          metadata.add(file.location());
        }
        boolean isOld = file.createdAtMillis() < before.toEpochMilli();
        if (isOld && isOwn(place) && isReal(place)) {
          candidates.add(file.location());
        }
      }
    }
    Optional<String> stranger = states.ofAnotherTable();
    if (stranger.isPresent()) {
      return OrphanFiles.none(
          "the folder of another table, %s, lies inside its own".formatted(stranger.get()));
    }
    states.unneeded(before).stream()
        .filter(file -> isReal(Place.written(file)))
        .forEach(candidates::add);
    table.refresh(); // what was committed before the files were listed is known now
    KnownFiles known = KnownFiles.of(table);
    metadata.removeIf(file -> known.hasMetadata(FileNames.of(file)));
    Optional<String> foreign = metadata.stream().filter(this::isOfAnotherTable).findFirst();
    if (foreign.isPresent()) {
      return OrphanFiles.none(
          "another table has its metadata in the same folder, %s".formatted(foreign.get()));
    }
    return new OrphanFiles(known.unneeded(candidates), null);
  }

  private boolean isOwn(Place file) {
    String name = file.name();
    return (FileNames.isContent(name) && liesIn(dataFolders, file))
        || ((FileNames.isTableMetadata(name) || FileNames.isManifest(name))
            && metadataFolders.stream().anyMatch(folder -> folder.isSame(file.parent())))
        || (StoreClock.isOurs(name) && location.isSame(file.parent()));
  }

  private static boolean liesIn(List<Place> folders, Place file) {
    return folders.stream().anyMatch(folder -> folder.holds(file));
  }

  /** No link on the way from the table's folder leads elsewhere. */
  private boolean isReal(Place file) {
    if (!file.isOnDisk()) {
      return true;
    }
    List<String> below = file.parts().subList(location.parts().size(), file.parts().size());
    Place unlinked = Place.of(location.location());
    for (String part : below) {
      unlinked = unlinked.child(part);
    }
    return unlinked.isSame(Place.of(file.location()));
  }

  private boolean isOfAnotherTable(String metadataFile) {
    try {
      return TableUuid.isAnother(table.io().newInputFile(metadataFile), table.uuid());
    } catch (NotFoundException e) {
      return false; // deleted meanwhile, as commits do with the oldest
    }
  }
}
