package io.keylake.tables.storage;

import io.keylake.tables.Backoff;
import io.keylake.tables.FileNames;
import io.keylake.tables.Machine;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.MetadataLog;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.Stream;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.util.PropertyUtil;
import org.apache.iceberg.util.Tasks;

/**
 * The metadata files of a table, as far as they are still there:
 *
 * <ol>
 *   <li>The present one names those before it in its log, up to a number; they are kept, as Iceberg
 *       keeps them.
 *   <li>The oldest file in a log has a log of its own, which names those before it, and so on.
 *       Those are old: no commit can be made upon them, and nothing reads them.
 * </ol>
 *
 * <p>So only a file that the table's own metadata has named is ever deleted, and the store need not
 * be listed. The oldest go first: what is left after an end in between is found again.
 */
public final class OldMetadata {
  private final Table table;
  private final List<String> kept;
  private final List<List<String>> old = new ArrayList<>(); // as the logs name them, oldest first

  private OldMetadata(Table table) {
    this.table = table;
    this.kept = kept(table);
  }

  /** The old metadata of the table as it was last refreshed. */
  public static OldMetadata of(Table table) {
    OldMetadata found = new OldMetadata(table);
    found.follow();
    return found;
  }

  private static TableMetadata metadata(Table table) {
    return ((HasTableOperations) table).operations().current();
  }

  private static List<String> named(TableMetadata metadata) {
    return metadata.previousFiles().stream().map(TableMetadata.MetadataLogEntry::file).toList();
  }

  /** The files that the present one names, and itself, the oldest first. */
  private static List<String> kept(Table table) {
    TableMetadata now = metadata(table);
    return Stream.concat(named(now).stream(), Stream.ofNullable(now.metadataFileLocation()))
        .toList();
  }

  private void follow() {
    Set<String> names = new HashSet<>();
    kept.forEach(location -> names.add(FileNames.of(location)));
    String oldest = kept.isEmpty() ? null : kept.get(0);
    while (oldest != null) {
      List<String> older =
          there(named(oldest).stream().filter(each -> names.add(FileNames.of(each))).toList());
      old.add(0, older);
      oldest = older.isEmpty() ? null : older.get(0);
    }
  }

  /**
   * The files that an earlier one names; nothing where it is gone, cannot be read or is of another
   * table.
   */
  private List<String> named(String location) {
    try {
      TableMetadata read = TableMetadataParser.read(table.io(), location);
      return table.uuid().toString().equals(read.uuid()) ? named(read) : List.of();
    } catch (NotFoundException | RuntimeIOException | IllegalArgumentException e) {
      return List.of();
    }
  }

  /** The locations at which a file is still there, in the same order. */
  private List<String> there(List<String> locations) {
    Set<String> found = ConcurrentHashMap.newKeySet();
    Tasks.foreach(locations)
        .executeWith(Machine.here().workers())
        .throwFailureWhenFinished()
        .run(
            location -> {
              if (table.io().newInputFile(location).exists()) {
                found.add(location);
              }
            });
    return locations.stream().filter(found::contains).toList();
  }

  /** The number of files: the present one, those that it names, and old ones. */
  public int files() {
    return kept.size() + oldFiles();
  }

  /** The number of files that a cleaning deletes. */
  public int oldFiles() {
    return old.stream().mapToInt(List::size).sum();
  }

  /** Bytes of all of them. */
  public long bytes() {
    AtomicLong bytes = new AtomicLong();
    Tasks.foreach(Stream.concat(kept.stream(), old.stream().flatMap(List::stream)).toList())
        .executeWith(Machine.here().workers())
        .suppressFailureWhenFinished() // commits delete some meanwhile
        .run(location -> bytes.addAndGet(table.io().newInputFile(location).getLength()));
    return bytes.get();
  }

  /** Bytes of the present one, which each commit writes anew. */
  public long newestBytes() {
    String now = metadata(table).metadataFileLocation();
    return now == null ? 0 : table.io().newInputFile(now).getLength();
  }

  /**
   * Gives a table that says nothing of it the limits that new ones have, and deletes what is
   * beyond.
   *
   * @return how many files were deleted
   */
  static int delete(Table table) {
    table.refresh();
    boolean isLimited =
        PropertyUtil.propertyAsBoolean(
            table.properties(), TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED, true);
    if (!isLimited) {
      return 0;
    }
    OldMetadata before = of(table);
    limit(table);
    before.old.forEach(older -> CatalogUtil.deleteFiles(table.io(), older, "metadata", true));
    Set<String> dropped = new HashSet<>(before.kept);
    kept(table).forEach(dropped::remove);
    return before.oldFiles() + dropped.size();
  }

  /**
   * Iceberg deletes with this commit what the log does not name any more, and so with later ones.
   */
  private static void limit(Table table) {
    Map<String, String> missing = MetadataLog.missing(table.properties());
    if (!missing.isEmpty()) {
      Backoff.retry(
          table,
          "the limit of metadata files",
          () -> {
            UpdateProperties limits = CertainOperations.of(table).updateProperties();
            missing.forEach(limits::set);
            limits.commit();
            return limits;
          });
    }
  }
}
