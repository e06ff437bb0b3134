package io.keylake.tables.storage;

import java.nio.charset.StandardCharsets;
import java.util.Optional;
import java.util.UUID;
import org.apache.iceberg.Table;

/**
 * The folder of a keyed table in which servers keep its merged states: plain tables of its own, one
 * in each folder in it, in which engines without the plug-in leave the files that they commit.
 */
public final class StatesFolder {
  private static final String NAME = "merged-state";

  private StatesFolder() {}

  public static String of(Table table) {
    return table.location() + "/" + NAME;
  }

  /** The UUID of all states of a table, whichever server makes them. */
  public static UUID uuid(Table table) {
    return UUID.nameUUIDFromBytes((table.uuid() + "/" + NAME).getBytes(StandardCharsets.UTF_8));
  }

  /** The file lies in the folder, by its location and, on a local disk, by its real path. */
  public static boolean holds(Table table, String file) {
    return holds(of(table), file);
  }

  /** A file lies below a folder, whatever its path looks like. */
  private static boolean holds(String folder, String file) {
    return file.startsWith(folder + "/") && Place.of(folder).holds(Place.of(file));
  }

  /** The file lies in the folder of the table: DuckDB puts deletion vectors beside the data. */
  public static boolean isBeside(Table table, String file) {
    return holds(table.location(), file);
  }

  static Place place(Table table) {
    return Place.written(table.location()).child(NAME);
  }

  /** The folder of the table that has a file among its states; empty for any other file. */
  static Optional<Place> tableOf(Place file) {
    int depth = file.parts().lastIndexOf(NAME);
    return depth < 0
        ? Optional.empty()
        : Optional.of(new Place(file.scheme(), file.authority(), file.parts().subList(0, depth)));
  }

  /** The folder is where a state of the table in another folder lies. */
  static boolean isState(Place folder, Place table) {
    return folder.parts().size() == table.parts().size() + 2 && table.child(NAME).holds(folder);
  }
}
