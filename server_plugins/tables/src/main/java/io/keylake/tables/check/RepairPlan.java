package io.keylake.tables.check;

import io.keylake.tables.check.RepairStep.Call;
import io.keylake.tables.check.RepairStep.Lost;
import io.keylake.tables.check.RepairStep.Way;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The plan of a repair: for each damaged file the first of these ways that there is.
 *
 * <ol>
 *   <li>A copy whose checks pass is put back.
 *   <li>The metadata file is written again, where the server has it in memory.
 *   <li>No branch and no tag needs the file: nothing has to be done.
 *   <li>A data file that a compaction wrote: the files that it merged are added again, where an
 *       older snapshot has them whole. One whose deletes are damaged is added again itself, since
 *       the deletes only record what a merge finds out.
 *   <li>Of manifests, and of a table with accumulators, in which the order of commits counts: the
 *       branch goes back to its newest whole snapshot.
 *   <li>The file is taken out, and what it had is lost unless it is sent again.
 * </ol>
 */
public final class RepairPlan {
  private static final String MAIN = SnapshotRef.MAIN_BRANCH;

  private final TableFiles files;
  private final KeyedSchema schema;
  private final Map<String, Finding> damaged = new LinkedHashMap<>(); // the first of each path
  private final Set<String> copies;
  private final Set<Long> broken = new HashSet<>(); // snapshots

  private RepairPlan(TableFiles files, Collection<Finding> findings, Set<String> copies) {
    this.files = files;
    this.schema = KeyedSchema.of(files.table());
    this.copies = copies;
    findings.forEach(finding -> damaged.putIfAbsent(finding.path(), finding));
    damaged.keySet().stream()
        .filter(path -> files.kind(path) != FileKind.STATISTICS)
        .forEach(path -> broken.addAll(files.uses(path).snapshots()));
  }

  /**
   * Plans the repair of what a check has found.
   *
   * @param copies the paths of damaged files of which there is a copy that passes its checks
   */
  public static List<RepairStep> of(
      TableFiles files, Collection<Finding> findings, Set<String> copies) {
    RepairPlan plan = new RepairPlan(files, findings, copies);
    return plan.damaged.values().stream().map(plan::step).toList();
  }

  private RepairStep step(Finding finding) {
    String path = finding.path();
    Uses uses = files.uses(path);
    FileKind kind = files.kind(path);
    if (copies.contains(path)) {
      return step(finding, Way.PUT_BACK, List.of(), "a copy passes its checks");
    }
    if (kind == FileKind.METADATA && files.areInMemory()) {
      return step(
          finding,
          Way.RESTORE_METADATA,
          List.of(new Call("restore_metadata", Map.of())),
          "the server has what it says in memory, and writes it again; nothing is lost");
    }
    if (kind == FileKind.METADATA) {
      return step(finding, Way.BACKUP, List.of(), "the catalog names this file; put it back");
    }
    if (kind == FileKind.STATISTICS) {
      return step(finding, Way.NONE, List.of(), "no read needs its statistics");
    }
    if (uses.isOfThePast()) {
      return step(
          finding,
          Way.NONE,
          List.of(),
          "only %d older snapshots need it, and no branch or tag"
              .formatted(uses.snapshots().size()));
    }
    NeededFile file = files.file(path);
    if (file == null) {
      return rollback(finding, uses);
    }
    return restored(finding, file, uses)
        .or(
            () ->
                kind == FileKind.DELETES ? Optional.of(rollback(finding, uses)) : Optional.empty())
        .orElseGet(() -> dropped(finding, file, uses));
  }

  private static RepairStep step(Finding finding, Way way, List<Call> calls, String why) {
    return new RepairStep(finding.path(), finding.kind(), way, calls, why, null);
  }

  /** Adds the rows again as other files have them; empty where there are none. */
  private Optional<RepairStep> restored(Finding finding, NeededFile file, Uses uses) {
    if (hasAccumulators() || uses.branches().isEmpty()) {
      return Optional.empty();
    }
    return file.kind() == FileKind.DELETES
        ? withoutDeletes(finding, file, uses)
        : unmerged(finding, file, uses);
  }

  private Optional<RepairStep> withoutDeletes(Finding finding, NeededFile file, Uses uses) {
    NeededFile data = file.referenced() == null ? null : files.file(file.referenced());
    if (data == null || damaged.containsKey(data.location())) {
      return Optional.empty();
    }
    List<String> path = List.of(data.location());
    return Optional.of(
        step(
            finding,
            Way.RESTORE_FILES,
            again(uses, path, path, null),
            "the deletes record superseded rows alone, so the data file is added without them"));
  }

  private Optional<RepairStep> unmerged(Finding finding, NeededFile file, Uses uses) {
    Snapshot first = files.commit(oldest(uses));
    Long parent = first == null ? null : first.parentId();
    if (first == null || parent == null || !CommitLog.Entry.of(first).isCompaction()) {
      return Optional.empty();
    }
    List<String> inputs = inputs(file, first.snapshotId(), parent);
    return inputs.isEmpty() || inputs.stream().anyMatch(damaged::containsKey)
        ? Optional.empty()
        : Optional.of(
            step(
                finding,
                Way.RESTORE_FILES,
                again(uses, List.of(file.location()), inputs, parent),
                "snapshot %d has the %d files that were merged into it"
                    .formatted(parent, inputs.size())));
  }

  private long oldest(Uses uses) {
    return uses.snapshots().stream()
        .mapToLong(id -> files.table().snapshot(id).sequenceNumber())
        .min()
        .orElse(-1);
  }

  private boolean hasAccumulators() {
    return schema.visible().columns().stream()
        .anyMatch(field -> schema.spec().reducer(field.name()).accumulates());
  }

  /** The data files of a bucket that a commit has replaced. */
  private List<String> inputs(NeededFile file, long commit, long parent) {
    Set<NeededFile> kept = new HashSet<>(files.filesOf(commit));
    return files.filesOf(parent).stream()
        .filter(each -> each.kind() == FileKind.DATA && !kept.contains(each))
        .filter(each -> each.bucket().equals(file.bucket()) && each.specId() == file.specId())
        .map(NeededFile::location)
        .sorted()
        .toList();
  }

  /**
   * @param at the snapshot that has the files to be added; null for the head of the branch
   */
  private List<Call> again(Uses uses, List<String> drop, List<String> add, @Nullable Long at) {
    List<Call> calls = new ArrayList<>();
    for (String branch : uses.branches()) {
      Snapshot head = Objects.requireNonNull(files.table().snapshot(branch), "a branch has one");
      long from = at == null ? head.snapshotId() : at;
      calls.add(call("drop_files", branch, Map.of("where", where(drop))));
      calls.add(call("restore_files", branch, Map.of("where", where(add), "at", from)));
    }
    return calls;
  }

  private static Call call(String procedure, String branch, Map<String, Object> arguments) {
    Map<String, Object> all = new HashMap<>(arguments);
    if (!branch.equals(MAIN)) {
      all.put("branch", branch);
    }
    return new Call(procedure, all);
  }

  private static String where(List<String> paths) {
    List<String> quoted =
        paths.stream()
            .map(path -> "'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'")
            .toList();
    return quoted.size() == 1
        ? "path = " + quoted.get(0)
        : "path IN (" + String.join(", ", quoted) + ")";
  }

  private RepairStep rollback(Finding finding, Uses uses) {
    List<Call> calls = new ArrayList<>();
    for (String branch : uses.branches()) {
      Long whole = newestWhole(branch);
      if (whole == null) {
        return step(
            finding,
            Way.BACKUP,
            List.of(),
            "branch %s has no whole snapshot that is kept".formatted(branch));
      }
      calls.add(call("rollback", branch, Map.of("to", whole)));
    }
    return step(
        finding,
        calls.isEmpty() ? Way.BACKUP : Way.ROLLBACK,
        calls,
        calls.isEmpty()
            ? "tags %s need it".formatted(String.join(", ", uses.tags()))
            : "the commits after it are lost, unless a backup has the file");
  }

  private @Nullable Long newestWhole(String branch) {
    Snapshot snapshot = files.table().snapshot(branch);
    while (snapshot != null && broken.contains(snapshot.snapshotId())) {
      Long parent = snapshot.parentId();
      snapshot = parent == null ? null : files.table().snapshot(parent);
    }
    return snapshot == null ? null : snapshot.snapshotId();
  }

  private RepairStep dropped(Finding finding, NeededFile file, Uses uses) {
    List<Call> calls =
        uses.branches().stream()
            .map(
                branch ->
                    call("drop_files", branch, Map.of("where", where(List.of(file.location())))))
            .toList();
    return new RepairStep(
        finding.path(),
        finding.kind(),
        calls.isEmpty() ? Way.BACKUP : Way.DROP_FILES,
        calls,
        "no other file has its rows; take it out, and send them again",
        lost(file));
  }

  private Lost lost(NeededFile file) {
    Snapshot snapshot = files.commit(file.order());
    CommitLog.Entry commit = snapshot == null ? null : CommitLog.Entry.of(snapshot);
    CommitLog.Entry write = commit == null || commit.isCompaction() ? null : commit;
    return new Lost(
        file.bucket(),
        file.rows(),
        values(file.lower()),
        values(file.upper()),
        commit == null ? null : Long.valueOf(commit.snapshotId()),
        write == null ? null : write.stream(),
        write == null ? null : write.idempotencyKey());
  }

  private List<String> values(Map<Integer, byte[]> bounds) {
    return schema.sortKey().stream()
        .filter(field -> bounds.containsKey(field.fieldId()))
        .map(field -> value(field, Objects.requireNonNull(bounds.get(field.fieldId()))))
        .toList();
  }

  private static String value(NestedField field, byte[] bytes) {
    return String.valueOf(
        Objects.<@Nullable Object>requireNonNullElse(
            Conversions.fromByteBuffer(field.type(), ByteBuffer.wrap(bytes)), ""));
  }
}
