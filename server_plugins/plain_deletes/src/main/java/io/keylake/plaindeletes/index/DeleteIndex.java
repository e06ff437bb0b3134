package io.keylake.plaindeletes.index;

import io.keylake.tables.StoreFailure;
import io.keylake.tables.storage.MemoryBudget;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.ToIntFunction;
import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * The newest delete of each key of a group of equality delete files.
 *
 * <p>The files are read one after the other, each key is kept once, with the sequence number of its
 * newest delete. While there is memory, the keys are in a table of primitives: at most 16 bytes for
 * a number, 20 bytes and its length for another key. When there is none left, the table is written
 * to the local disk in the order of the keys and filled again; in the end these runs are merged
 * into one file, which is looked up in by binary search.
 *
 * <p>A row is deleted if its key is here with a sequence number greater than that of its data file.
 * Any number of threads may look up at once.
 */
public final class DeleteIndex implements AutoCloseable {
  private final Ordinals ordinals;
  private final int ordinalOfNull;
  private final KeyTable table;
  private final @Nullable SortedKeys spilled;
  private final Allowance allowance;
  private final ToIntFunction<DeleteKey> lookup;

  private DeleteIndex(
      Ordinals ordinals,
      int ordinalOfNull,
      KeyTable table,
      @Nullable SortedKeys spilled,
      Allowance allowance) {
    this.ordinals = ordinals;
    this.ordinalOfNull = ordinalOfNull;
    this.table = table;
    this.spilled = spilled;
    this.allowance = allowance;
    lookup = spilled == null ? table::ordinal : spilled::ordinal;
  }

  /**
   * Reads the delete files of a group. If that fails, no memory is held.
   *
   * @param directory an empty one on the local disk, for what does not fit into memory; the caller
   *     deletes it after the index is closed
   */
  public static DeleteIndex load(
      DeleteGroup group, DeleteFileRows rows, MemoryBudget budget, Path directory) {
    Loading loading = new Loading(group, budget, directory);
    boolean isLoaded = false;
    try {
      DeleteIndex index = loading.index(rows);
      isLoaded = true;
      return index;
    } catch (IOException e) {
      throw StoreFailure.sorting(directory.toString(), e);
    } finally {
      if (!isLoaded) {
        loading.table.clear();
      }
    }
  }

  private static final class Loading {
    private final DeleteGroup group;
    private final Ordinals ordinals;
    private final Allowance allowance;
    private final KeyTable table;
    private final SpilledRuns runs;
    private final Path directory;
    private int ordinalOfNull;

    Loading(DeleteGroup group, MemoryBudget budget, Path directory) {
      this.group = group;
      List<DeleteFile> files = group.files();
      ordinals = new Ordinals(files.stream().mapToLong(DeleteFile::dataSequenceNumber));
      allowance = new Allowance(budget);
      table =
          group.isNumber()
              ? new NumberTable(ordinals, allowance)
              : new BytesTable(ordinals, allowance);
      runs = new SpilledRuns(directory);
      this.directory = directory;
    }

    DeleteIndex index(DeleteFileRows rows) throws IOException {
      for (DeleteFile file : group.files()) {
        int ordinal = ordinals.of(file.dataSequenceNumber());
        rows.read(group, file, key -> add(key, ordinal));
      }
      if (runs.isEmpty()) {
        table.seal();
        return new DeleteIndex(ordinals, ordinalOfNull, table, null, allowance);
      }
      runs.add(table);
      SortedKeys merged = runs.merged(!group.isNumber());
      return new DeleteIndex(ordinals, ordinalOfNull, table, merged, allowance);
    }

    /** A disk that fails here is not that of the file that is read. */
    private void add(DeleteKey key, int ordinal) {
      try {
        put(key, ordinal);
      } catch (IOException e) {
        throw StoreFailure.sorting(directory.toString(), e);
      }
    }

    private void put(DeleteKey key, int ordinal) throws IOException {
      if (key.isNullNumber()) {
        ordinalOfNull = Math.max(ordinalOfNull, ordinal);
      } else if (!table.put(key, ordinal)) {
        runs.add(table);
        if (!table.put(key, ordinal)) {
          runs.add(key, ordinal);
        }
      }
    }
  }

  /** The sequence number of the newest delete of a key; -1 if there is none. */
  public long newest(DeleteKey key) {
    return ordinals.sequenceNumber(key.isNullNumber() ? ordinalOfNull : lookup.applyAsInt(key));
  }

  /**
   * A row is deleted.
   *
   * @param sequenceNumber the data sequence number of its file
   */
  public boolean deletes(DeleteKey key, long sequenceNumber) {
    return newest(key) > sequenceNumber;
  }

  /** The number of distinct keys that are deleted. */
  public long keys() {
    return (spilled == null ? table.keys() : spilled.size()) + (ordinalOfNull == 0 ? 0 : 1);
  }

  /** The memory that is held; 0 after it was closed. */
  public long memoryBytes() {
    return allowance.used();
  }

  /** The size of the files on the local disk; 0 if everything is in memory. */
  public long spilledBytes() {
    return spilled == null ? 0 : spilled.bytes();
  }

  /** Gives the memory back; nobody may look up then. */
  @Override
  public void close() {
    table.clear();
  }
}
