package io.keylake.tables.repair;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Takes in a commit of another engine: the rows of the files that it appended are written again as
 * an upsert of keylake, and its files are removed in the same commit. A commit that removed or
 * rewrote files cannot be adopted: what its rows were written by, and in which order, is lost.
 *
 * @param branch null for main
 * @param plannedAt where the branch stands
 * @param snapshotId the foreign commit
 * @param files that it added and the branch still has
 * @param isLast whether no other foreign commit is left then
 */
public record Adoption(
    Table table,
    @Nullable String branch,
    long plannedAt,
    long snapshotId,
    List<FileScanTask> files,
    boolean isLast) {

  public Adoption {
    files = List.copyOf(files);
  }

  /**
   * Plans it.
   *
   * @param branch null for main
   */
  public static Adoption of(Table table, @Nullable String branch, long snapshotId) {
    Long head = new CommitLog(table, branch).headId();
    Lineage lineage = Lineage.of(table, head);
    Optional<Snapshot> foreign =
        lineage.foreign().stream().filter(each -> each.snapshotId() == snapshotId).findFirst();
    List<String> strange = lineage.strangeFiles();
    boolean isExpired = foreign.isEmpty() && !strange.isEmpty() && isOldest(lineage, snapshotId);
    if (head == null || (foreign.isEmpty() && !isExpired)) {
      throw new KeylakeException(
          NOT_FOUND,
          "commit %d on branch '%s' of %s does not have to be adopted; the foreign commits there are %s"
              .formatted(
                  snapshotId,
                  branch == null ? "main" : branch,
                  table.name(),
                  lineage.foreign().stream().map(Snapshot::snapshotId).toList()));
    }
    for (Snapshot each : lineage.foreign()) {
      if (!Lineage.isAppend(table, each)) {
        throw isRewrite(lineage, each);
      }
    }
    Set<String> locations = Set.copyOf(strange);
    List<FileScanTask> files =
        FileListing.ofAll(table).at(head).stream()
            .filter(
                task ->
                    foreign.isPresent()
                        ? task.file().fileSequenceNumber() == foreign.get().sequenceNumber()
                        : locations.contains(task.file().location()))
            .toList();
    files.forEach(Adoption::checkWhole);
    int rest = lineage.foreign().size() - (foreign.isPresent() ? 1 : 0);
    boolean isLast = rest == 0 && (isExpired ? strange.size() == files.size() : strange.isEmpty());
    return new Adoption(table, branch, head, snapshotId, files, isLast);
  }

  private static KeylakeException isRewrite(Lineage lineage, Snapshot commit) {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d (%s) removed or rewrote files of %s, and what they held in which order is lost; only appended files can be adopted; %s"
            .formatted(
                commit.snapshotId(),
                commit.operation(),
                lineage.table().name(),
                lineage.base() == null
                    ? "create a new table and write the rows there"
                    : "roll back to commit " + lineage.base().snapshotId()));
  }

  private static boolean isOldest(Lineage lineage, long snapshotId) {
    return lineage.oldest() != null && lineage.oldest().snapshotId() == snapshotId;
  }

  private static void checkWhole(FileScanTask task) {
    if (!task.deletes().isEmpty()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "rows of the foreign file %s were deleted by %s, so that it cannot be adopted; roll back"
              .formatted(task.file().location(), task.deletes().get(0).location()));
    }
  }

  /** Whoever reads a key takes it for one that cannot be null. */
  public void checkKeys(KeyedSchema schema) {
    for (FileScanTask task : files) {
      for (NestedField key : schema.key()) {
        Map<Integer, Long> nulls = task.file().nullValueCounts();
        Long count = nulls == null ? null : nulls.get(key.fieldId());
        if (count == null || count > 0) {
          throw new KeylakeException(
              BAD_ROWS,
              "%s in key column '%s' of the foreign file %s, so that its rows cannot be adopted; roll back"
                  .formatted(
                      count == null ? "nothing is known of nulls" : count + " rows have null",
                      key.name(),
                      task.file().location()));
        }
      }
    }
  }

  /** The refusal of rows that say which versions they have. */
  public KeylakeException hasVersions() {
    return new KeylakeException(
        UNSUPPORTED,
        "commit %d appended rows to %s with values in the hidden column '%s', which only keylake writes; roll back, and write them with upsert"
            .formatted(snapshotId, table.name(), KeyedSchema.MERGE_INFO));
  }
}
