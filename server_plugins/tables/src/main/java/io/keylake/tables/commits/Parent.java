package io.keylake.tables.commits;

import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.HighestVersion;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteSummary;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The branch and the table upon which a commit is made, at the very moment of the commit. Others
 * may have committed since the commit was planned.
 */
public final class Parent {
  private final TableMetadata metadata;
  private final FileIO io;
  private final String branch;
  private final Iterable<Snapshot> newestFirst;

  Parent(TableMetadata metadata, FileIO io, String branch, Iterable<Snapshot> newestFirst) {
    this.metadata = metadata;
    this.io = io;
    this.branch = branch;
    this.newestFirst = newestFirst;
  }

  TableMetadata metadata() {
    return metadata;
  }

  public String branch() {
    return branch;
  }

  /** The snapshot upon which the commit is made; null for the first commit. */
  public @Nullable Snapshot snapshot() {
    return newestFirst.iterator().hasNext() ? newestFirst.iterator().next() : null;
  }

  /** The commits of the branch, newest first, as far as they have not expired. */
  public Iterable<Snapshot> commits() {
    return newestFirst;
  }

  /**
   * The branch stands at a snapshot.
   *
   * @param snapshotId null for a branch without a commit
   */
  public boolean is(@Nullable Long snapshotId) {
    Snapshot snapshot = snapshot();
    return snapshot == null
        ? snapshotId == null
        : Long.valueOf(snapshot.snapshotId()).equals(snapshotId);
  }

  /** The snapshot at which another branch stands; null where that is not there or has no commit. */
  public @Nullable Long headOf(String other) {
    SnapshotRef ref = metadata.ref(other);
    return ref == null ? null : Long.valueOf(ref.snapshotId());
  }

  /** A commit of the branch has the idempotency key of another: that one again is a repetition. */
  public boolean hasKeyOf(Snapshot commit) {
    String key = commit.summary().get(WriteSummary.IDEMPOTENCY_KEY);
    return key != null && IdempotencyKeys.first(this, key).isPresent();
  }

  /**
   * The same of the branch as a table has it now.
   *
   * @param head where it stands; null for nowhere
   */
  public static boolean hasKeyOf(Snapshot commit, Table table, @Nullable Snapshot head) {
    String key = commit.summary().get(WriteSummary.IDEMPOTENCY_KEY);
    return key != null
        && head != null
        && (CommitLog.withKey(SnapshotUtil.ancestorsOf(head.snapshotId(), table::snapshot), key)
                .isPresent()
            || Commits.remembered(table, head, key).isPresent());
  }

  /** The table has a snapshot: the files of one that has expired may be deleted. */
  public boolean has(long snapshotId) {
    return metadata.snapshot(snapshotId) != null;
  }

  /** The names of all branches and tags. */
  public Set<String> references() {
    return metadata.refs().keySet();
  }

  /** The number that the commit will have if it succeeds. */
  public long sequenceNumber() {
    return metadata.nextSequenceNumber();
  }

  public Ledger ledger() {
    return Ledger.of(metadata.snapshots(), metadata::snapshot, snapshot());
  }

  public Settled settled() {
    return Settled.of(snapshot());
  }

  /** The snapshot says that every key stands once in it. */
  boolean isSafeForPlainReads() {
    Snapshot snapshot = snapshot();
    return snapshot != null && "safe".equals(snapshot.summary().get(WriteSummary.PLAIN_READS));
  }

  Watermarks watermarks() {
    return Watermarks.of(newestFirst);
  }

  /** The highest version that the branch has; null where nothing says one. */
  public @Nullable Long highestVersion() {
    return new HighestVersion(metadata.schema(), metadata.specsById(), io).of(newestFirst);
  }

  /** The locations of the data files that are there, from manifests. */
  public Set<String> files() {
    return files(metadata.specsById(), io, snapshot());
  }

  /**
   * The locations of the data files of a snapshot, from its manifests.
   *
   * @param snapshot null for none
   */
  public static Set<String> files(Table table, @Nullable Snapshot snapshot) {
    return files(table.specs(), table.io(), snapshot);
  }

  private static Set<String> files(
      Map<Integer, PartitionSpec> specs, FileIO io, @Nullable Snapshot snapshot) {
    Set<String> locations = new HashSet<>();
    if (snapshot != null) {
      for (ManifestFile manifest : snapshot.dataManifests(io)) {
        try (ManifestReader<DataFile> files = ManifestFiles.read(manifest, io, specs)) {
          files.forEach(file -> locations.add(file.location()));
        } catch (IOException e) {
          throw new UncheckedIOException(e);
        }
      }
    }
    return locations;
  }
}
