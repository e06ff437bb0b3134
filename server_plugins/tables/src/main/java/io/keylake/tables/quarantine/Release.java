package io.keylake.tables.quarantine;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Takes rows out of the quarantine, and brings them to main or leaves them out of both. Of some of
 * its rows it puts files of the others in the place of their own, as a compaction does: writes that
 * came meanwhile are no hindrance. Of all rows it drops the branch, and gives way where the branch
 * has moved.
 *
 * @param of the quarantine as it was planned upon
 * @param selected files of the selected rows, by the commits that main gets, in their order
 * @param kept the rows that stay; null where all are taken, and the branch with them
 * @param isToMain whether the selected rows come to main
 */
public record Release(
    Quarantine of,
    List<List<DataFile>> selected,
    @Nullable Kept kept,
    boolean isToMain,
    WriteLabels labels)
    implements Change {

  /**
   * The rows that stay.
   *
   * @param inputs the files that go
   * @param superseded what says which of their rows are superseded, and goes with them
   * @param files in their place
   * @param age the data sequence number of these
   */
  public record Kept(
      List<DataFile> inputs, List<DeleteFile> superseded, List<DataFile> files, long age) {
    public Kept {
      inputs = List.copyOf(inputs);
      superseded = List.copyOf(superseded);
      files = List.copyOf(files);
    }
  }

  public Release {
    selected = selected.stream().filter(files -> !files.isEmpty()).map(List::copyOf).toList();
  }

  /** The number of rows that are taken out. */
  public long rows() {
    return rows(selected.stream().flatMap(List::stream));
  }

  /** The number of rows that stay. */
  public long rowsLeft() {
    return kept == null ? 0 : rows(kept.files().stream());
  }

  /** The number of files whose rows come to main as they are. */
  public long filesAsTheyAre() {
    return kept == null ? selected.stream().mapToLong(List::size).sum() : 0;
  }

  private static long rows(Stream<DataFile> files) {
    return files.mapToLong(DataFile::recordCount).sum();
  }

  @Override
  public void addTo(Attempt attempt) {
    if (kept == null) {
      if (!attempt.parent(Quarantine.BRANCH).is(head())) {
        throw Attempt.stale();
      }
      attempt.references().removeBranch(Quarantine.BRANCH).commit();
    } else {
      keep(attempt, kept);
    }
    if (isToMain) {
      for (List<DataFile> files : selected) {
        new Append(null, files, summary(WriteSummary.RELEASE, files)).addTo(attempt);
      }
    }
  }

  private void keep(Attempt attempt, Kept rows) {
    RewriteFiles rewrite =
        attempt
            .transaction()
            .newRewrite()
            .validateFromSnapshot(head())
            .dataSequenceNumber(rows.age());
    rows.inputs().forEach(rewrite::deleteFile);
    rows.superseded().forEach(rewrite::deleteFile);
    rows.files().forEach(rewrite::addFile);
    WriteSummary summary =
        summary(isToMain ? WriteSummary.RELEASE : WriteSummary.DISCARD, List.of());
    attempt.commit(
        Quarantine.BRANCH,
        rewrite,
        parent -> {
          if (!Quarantine.isOne(parent.snapshot())) {
            throw Attempt.stale();
          }
          return CommitSummary.of(summary.properties(false));
        });
  }

  private long head() {
    return Objects.requireNonNull(of.head(), "it has rows").snapshotId();
  }

  /**
   * The summary of a commit with some of the rows; their versions are at most the highest of all.
   */
  private WriteSummary summary(String verb, List<DataFile> files) {
    String highest = Objects.requireNonNull(of.head()).summary().get(WriteSummary.HIGHEST_VERSION);
    Long version = files.isEmpty() || highest == null ? null : Long.valueOf(highest);
    return new WriteSummary(verb, rows(files.stream()), version, version, columns(files), labels);
  }

  /** The value columns that some file has values of. */
  private List<String> columns(List<DataFile> files) {
    return KeyedSchema.of(of.table()).values().stream()
        .filter(field -> files.stream().anyMatch(file -> carries(file, field.fieldId())))
        .map(NestedField::name)
        .toList();
  }

  private static boolean carries(DataFile file, int column) {
    return file.columnSizes() == null || file.columnSizes().containsKey(column);
  }

  @Override
  public List<String> written() {
    return kept == null
        ? List.of()
        : Stream.concat(selected.stream().flatMap(List::stream), kept.files().stream())
            .map(DataFile::location)
            .toList();
  }

  /** The locations of written files that nothing needs once the rows are discarded. */
  public List<String> unused() {
    return kept == null || isToMain
        ? List.of()
        : selected.stream().flatMap(List::stream).map(DataFile::location).toList();
  }

  /** A release gives way to others, and is planned anew. */
  @Override
  public @Nullable KeylakeException lost(String why) {
    return null;
  }
}
