package io.keylake.tables.storage;

import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.io.FileInfo;

/**
 * The files of a table's merged states, by their folders. Only the server that has made a state
 * knows what it needs of them, so a folder is left whole for as long as one of its files is young.
 */
final class MergedStateFiles {
  private final Table table;
  private final Place states;
  private final UUID uuid;
  private final Map<String, List<FileInfo>> byFolder = new HashMap<>();
  private final List<String> described = new ArrayList<>();

  MergedStateFiles(Table table) {
    this.table = table;
    this.states = StatesFolder.place(table);
    this.uuid = StatesFolder.uuid(table);
  }

  /** Takes a file that lies in the folder of a state; no other. */
  boolean take(FileInfo file, Place place) {
    int depth = states.parts().size();
    if (!states.holds(place) || place.parts().size() <= depth + 1) {
      return false;
    }
    byFolder.computeIfAbsent(place.parts().get(depth), name -> new ArrayList<>()).add(file);
    if (Folders.describedBy(place).isPresent()) {
      described.add(file.location());
    }
    return true;
  }

  /** The folder of a table that is no state of this one. */
  Optional<String> ofAnotherTable() {
    return described.stream()
        .filter(this::isOfAnotherTable)
        .flatMap(file -> Folders.describedBy(Place.written(file)).stream())
        .map(Place::location)
        .findFirst();
  }

  private boolean isOfAnotherTable(String metadata) {
    try {
      return TableUuid.isAnother(table.io().newInputFile(metadata), uuid);
    } catch (NotFoundException e) {
      return false; // deleted meanwhile, as states do with the oldest
    }
  }

  /** All files of the folders in which nothing was written since a moment. */
  List<String> unneeded(Instant before) {
    return byFolder.values().stream()
        .filter(
            files ->
                files.stream().allMatch(file -> file.createdAtMillis() < before.toEpochMilli()))
        .flatMap(List::stream)
        .map(FileInfo::location)
        .toList();
  }
}
