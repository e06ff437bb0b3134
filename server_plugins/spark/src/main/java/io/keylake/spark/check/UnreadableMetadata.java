package io.keylake.spark.check;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.STORE_FAILED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.check.EarlierMetadata;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.RepairStep;
import io.keylake.tables.check.RepairStep.Call;
import io.keylake.tables.check.RepairStep.Way;
import io.keylake.tables.check.TableFiles;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.iceberg.HasTableOperations;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.io.FileIO;
import org.jspecify.annotations.Nullable;

/**
 * The metadata file of a table that cannot be opened: its catalog names a file that is not there,
 * or cannot be parsed.
 *
 * @param path of the file; empty where the failure names none
 * @param said the failure, as a sentence
 */
public record UnreadableMetadata(FileIO io, String path, String said) {
  private static final Pattern METADATA = Pattern.compile("[^\\s:']*/[^\\s:']+\\.metadata\\.json");

  /** The file that a failure to open a table names; other failures are thrown on. */
  public static UnreadableMetadata of(KeylakeException failure, FileIO io) {
    if (failure.kind() != STORE_FAILED) {
      throw failure;
    }
    String said = String.valueOf(failure.getMessage());
    Matcher path = METADATA.matcher(said);
    return new UnreadableMetadata(io, path.find() ? path.group() : "", said);
  }

  /**
   * The file before it; null where there is none. A store that refuses says nothing of the file.
   */
  private @Nullable EarlierMetadata earlier() {
    if (path.isEmpty()) {
      return null;
    }
    try {
      TableMetadataParser.read(io, path);
    } catch (RuntimeException e) {
      Finding.unread(
          io, Finding.Kind.UNREADABLE, path, e); // throws where it is the store's failure
    }
    return EarlierMetadata.of(io, path);
  }

  /** The copy of the file in a folder; null where it has none that can be parsed. */
  public @Nullable String copy(@Nullable String folder) {
    if (folder == null || path.isEmpty()) {
      return null;
    }
    String table = path.replaceFirst("/[^/]*/[^/]*$", ""); // whose folder has that of its metadata
    for (String place : Copies.places(table, path, folder)) {
      try {
        TableMetadataParser.read(io, place);
        return place;
      } catch (RuntimeException e) {
        // not there, or damaged as well
      }
    }
    return null;
  }

  /**
   * Writes it again as an earlier one, which has to be named: what was committed after that is
   * lost.
   *
   * @return the location of the earlier one
   */
  public String restore(@Nullable String named) {
    EarlierMetadata earlier = earlier();
    if (earlier == null || !earlier.location().equals(named)) {
      throw new KeylakeException(
          DEFINITION,
          "metadata %s can be written again as %s alone, and metadata is %s; nothing was changed; take what repair_plan says"
              .formatted(
                  path, earlier == null ? "a backup has it" : earlier.location(), quoted(named)));
    }
    EarlierMetadata.put(io, earlier.metadata(), path);
    return earlier.location();
  }

  private static String quoted(@Nullable String named) {
    return named == null ? "not given" : "'" + named + "'";
  }

  /** Writes the damaged file of a table again that this process has in memory. */
  public static void restore(Table table) {
    if (!TableFiles.of(table).areInMemory()) {
      throw new KeylakeException(
          DEFINITION,
          "the metadata of %s can be read; nothing was changed; rollback goes back to an older commit"
              .formatted(table.name()));
    }
    EarlierMetadata.put(
        table.io(),
        ((HasTableOperations) table).operations().current(),
        TableUtil.metadataFileLocation(table));
  }

  /**
   * The step of its repair.
   *
   * @param copies the folder of copies; null for none
   */
  public RepairStep step(@Nullable String copies) {
    if (copy(copies) != null) {
      return step(Way.PUT_BACK, List.of(), "a copy can be read");
    }
    EarlierMetadata earlier = earlier();
    if (earlier == null) {
      return step(Way.BACKUP, List.of(), "no earlier metadata file of the table can be read");
    }
    return step(
        Way.RESTORE_METADATA,
        List.of(new Call("restore_metadata", Map.of("metadata", earlier.location()))),
        "the table becomes what it was at %s, %s: what was committed after that is lost, unless it is written again"
            .formatted(
                Instant.ofEpochMilli(earlier.metadata().lastUpdatedMillis())
                    .truncatedTo(ChronoUnit.SECONDS),
                head(earlier.metadata().currentSnapshot())));
  }

  private static String head(@Nullable Snapshot head) {
    return head == null
        ? "without a commit on main"
        : "with commit %d as the newest of main".formatted(head.snapshotId());
  }

  private RepairStep step(Way way, List<Call> calls, String why) {
    return new RepairStep(path, Finding.Kind.UNREADABLE, way, calls, why, null);
  }
}
