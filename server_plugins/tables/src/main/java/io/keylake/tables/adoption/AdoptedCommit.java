package io.keylake.tables.adoption;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.WriteSummary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.ContentFile;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.util.ContentFileUtil;
import org.jspecify.annotations.Nullable;

/**
 * A commit of a plain table: what it has done to rows, as files to read.
 *
 * @param upserts its data files, with the positions that it deletes in them
 * @param deletes its files of equality deletes, as if they were data files with columns of the key
 * @param before older data files of which it may have removed rows, as they were before it
 * @param after what it has left of these
 */
public record AdoptedCommit(
    Snapshot commit,
    List<FileScanTask> upserts,
    List<FileScanTask> deletes,
    List<FileScanTask> before,
    List<FileScanTask> after) {

  /** A rewrite has changed no row, nor have positions in the place of equality deletes. */
  public static AdoptedCommit of(AdoptedTable adopted, Snapshot commit) {
    if (DataOperations.REPLACE.equals(commit.operation())
        || commit.summary().containsKey(WriteSummary.APPLIES_DELETES)) {
      return new AdoptedCommit(commit, List.of(), List.of(), List.of(), List.of());
    }
    Table table = adopted.table();
    SnapshotChanges changes = SnapshotChanges.builderFor(table).snapshot(commit).build();
    List<DataFile> added = new ArrayList<>();
    changes.addedDataFiles().forEach(added::add);
    List<DeleteFile> positions = new ArrayList<>();
    List<FileScanTask> deletes = new ArrayList<>();
    for (DeleteFile file : changes.addedDeleteFiles()) {
      if (file.content() == FileContent.EQUALITY_DELETES) {
        checkFields(adopted, commit, file);
        deletes.add(task(table, asData(table, file), List.of()));
      } else {
        positions.add(file);
      }
    }
    Set<String> locations = added.stream().map(ContentFile::location).collect(Collectors.toSet());
    Set<String> touched = new HashSet<>();
    changes.removedDataFiles().forEach(file -> touched.add(file.location()));
    List<DeleteFile> ofOthers =
        positions.stream()
            .filter(file -> !locations.contains(String.valueOf(referenced(file))))
            .toList();
    List<FileScanTask> before =
        touched.isEmpty() && ofOthers.isEmpty()
            ? List.of()
            : planned(
                table,
                commit.parentId(),
                file ->
                    touched.contains(file.location())
                        || ofOthers.stream().anyMatch(each -> mayDelete(each, file)));
    Set<String> older =
        before.stream().map(task -> task.file().location()).collect(Collectors.toSet());
    return new AdoptedCommit(
        commit,
        added.stream()
            .map(
                file ->
                    task(
                        table,
                        file,
                        positions.stream().filter(each -> mayDelete(each, file)).toList()))
            .toList(),
        deletes,
        before,
        older.isEmpty()
            ? List.of()
            : planned(table, commit.snapshotId(), file -> older.contains(file.location())));
  }

  public boolean isEmpty() {
    return upserts.isEmpty() && deletes.isEmpty() && before.isEmpty();
  }

  private static void checkFields(AdoptedTable adopted, Snapshot commit, DeleteFile file) {
    if (!adopted.keyIds().equals(Set.copyOf(file.equalityFieldIds()))) {
      String fields =
          file.equalityFieldIds().stream()
              .map(id -> String.valueOf(adopted.table().schema().findColumnName(id)))
              .collect(Collectors.joining(", "));
      throw new KeylakeException(
          UNSUPPORTED,
          "commit %d of %s deletes rows by (%s), which is not its key; call apply_equality_deletes there, and adopt it into a new table"
              .formatted(commit.snapshotId(), adopted.name(), fields));
    }
  }

  /** The only data file of which positions are deleted; null where that is not known. */
  private static @Nullable String referenced(DeleteFile file) {
    CharSequence location = ContentFileUtil.referencedDataFile(file);
    return location == null ? null : location.toString();
  }

  private static boolean mayDelete(DeleteFile positions, DataFile file) {
    String only = referenced(positions);
    return only == null
        ? positions.specId() == file.specId()
            && Objects.equals(positions.partition(), file.partition())
        : only.equals(file.location());
  }

  private static List<FileScanTask> planned(
      Table table, @Nullable Long snapshotId, Predicate<DataFile> which) {
    List<FileScanTask> found = new ArrayList<>();
    if (snapshotId == null) {
      return found;
    }
    try (CloseableIterable<FileScanTask> tasks =
        table.newScan().useSnapshot(snapshotId).planFiles()) {
      tasks.forEach(
          task -> {
            if (which.test(task.file())) {
              found.add(task);
            }
          });
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return found;
  }

  private static DataFile asData(Table table, DeleteFile file) {
    PartitionSpec spec = spec(table, file);
    DataFiles.Builder data =
        DataFiles.builder(spec)
            .withPath(file.location())
            .withFormat(file.format())
            .withFileSizeInBytes(file.fileSizeInBytes())
            .withRecordCount(file.recordCount())
            .withEncryptionKeyMetadata(file.keyMetadata());
    return (spec.isPartitioned() ? data.withPartition(file.partition()) : data).build();
  }

  private static FileScanTask task(Table table, DataFile file, List<DeleteFile> deletes) {
    PartitionSpec spec = spec(table, file);
    return new BaseFileScanTask(
        file,
        deletes.toArray(DeleteFile[]::new),
        SchemaParser.toJson(table.schema()),
        PartitionSpecParser.toJson(spec),
        ResidualEvaluator.unpartitioned(Expressions.alwaysTrue()));
  }

  private static PartitionSpec spec(Table table, ContentFile<?> file) {
    return Objects.requireNonNull(table.specs().get(file.specId()), "a table keeps its specs");
  }
}
