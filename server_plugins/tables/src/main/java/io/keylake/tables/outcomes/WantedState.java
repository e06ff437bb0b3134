package io.keylake.tables.outcomes;

import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * The state that a table has after a commit. A commit that adds snapshots is recognized by them,
 * also behind later commits. Another one has no sign of its own: it is there where all that it
 * changes is as it was sent, whoever has made it so.
 *
 * @param base the table before; null for a new one
 * @param sent the table after
 */
record WantedState(@Nullable TableMetadata base, TableMetadata sent) {
  enum Outcome {
    NOTHING,
    ALL,
    /** A snapshot of the commit, with the files of an attempt before the newest. */
    EARLIER_ATTEMPT
  }

  Outcome in(TableMetadata now) {
    if (!Objects.equals(now.uuid(), sent.uuid())) {
      return Outcome.NOTHING;
    }
    List<Snapshot> added = added();
    for (Snapshot each : added) {
      Snapshot there = now.snapshot(each.snapshotId());
      if (there != null) {
        return Objects.equals(there.manifestListLocation(), each.manifestListLocation())
            ? Outcome.ALL
            : Outcome.EARLIER_ATTEMPT;
      }
    }
    boolean holds =
        added.isEmpty()
            && (base == null || sent.changes().stream().allMatch(each -> isIn(now, each)));
    return holds ? Outcome.ALL : Outcome.NOTHING;
  }

  /**
   * The file of the metadata that came upon the base, which later commits have replaced since; null
   * where that is not known, or of no use: a commit that adds snapshots is recognized by them.
   */
  @Nullable String replacedFile(TableMetadata now) {
    if (base == null || !added().isEmpty()) {
      return null;
    }
    String before = null;
    for (TableMetadata.MetadataLogEntry each : now.previousFiles()) {
      if (before != null && before.equals(base.metadataFileLocation())) {
        return each.file();
      }
      before = each.file();
    }
    return null;
  }

  private List<Snapshot> added() {
    return sent.changes().stream()
        .filter(MetadataUpdate.AddSnapshot.class::isInstance)
        .map(each -> ((MetadataUpdate.AddSnapshot) each).snapshot())
        .filter(each -> sent.snapshot(each.snapshotId()) != null)
        .toList();
  }

  /** The question by which a user finds out. */
  String question() {
    List<Snapshot> added = added();
    return added.isEmpty()
        ? "look whether the table is as you want it"
        : "look whether history() has the snapshot " + added.get(added.size() - 1).snapshotId();
  }

  /** The part that an update is about is now as it was sent. */
  private boolean isIn(TableMetadata now, MetadataUpdate update) {
    if (update instanceof MetadataUpdate.SetProperties set) {
      return sameProperties(now, set.updated().keySet());
    }
    if (update instanceof MetadataUpdate.RemoveProperties removal) {
      return sameProperties(now, removal.removed());
    }
    if (update instanceof MetadataUpdate.SetSnapshotRef set) {
      return hasReference(now, set.name());
    }
    if (update instanceof MetadataUpdate.RemoveSnapshotRef removal) {
      return hasReference(now, removal.name());
    }
    if (update instanceof MetadataUpdate.RemoveSnapshots removal) {
      return removal.snapshotIds().stream().allMatch(id -> now.snapshot(id) == null);
    }
    return isInLayout(now, update);
  }

  /** The same for what says how rows are stored. */
  private boolean isInLayout(TableMetadata now, MetadataUpdate update) {
    if (update instanceof MetadataUpdate.AddSchema
        || update instanceof MetadataUpdate.SetCurrentSchema) {
      return now.schema().sameSchema(sent.schema());
    }
    if (update instanceof MetadataUpdate.AddPartitionSpec
        || update instanceof MetadataUpdate.SetDefaultPartitionSpec) {
      return now.spec().compatibleWith(sent.spec());
    }
    if (update instanceof MetadataUpdate.AddSortOrder
        || update instanceof MetadataUpdate.SetDefaultSortOrder) {
      return now.sortOrder().sameOrder(sent.sortOrder());
    }
    if (update instanceof MetadataUpdate.SetLocation set) {
      return set.location().equals(now.location());
    }
    if (update instanceof MetadataUpdate.UpgradeFormatVersion upgrade) {
      return now.formatVersion() >= upgrade.formatVersion();
    }
    if (update instanceof MetadataUpdate.RemoveSchemas removal) {
      return removal.schemaIds().stream().noneMatch(now.schemasById()::containsKey);
    }
    if (update instanceof MetadataUpdate.RemovePartitionSpecs removal) {
      return removal.specIds().stream().noneMatch(now.specsById()::containsKey);
    }
    return isInStatistics(now, update);
  }

  private boolean isInStatistics(TableMetadata now, MetadataUpdate update) {
    if (update instanceof MetadataUpdate.SetStatistics
        || update instanceof MetadataUpdate.RemoveStatistics) {
      return new HashSet<>(now.statisticsFiles()).equals(new HashSet<>(sent.statisticsFiles()));
    }
    if (update instanceof MetadataUpdate.SetPartitionStatistics
        || update instanceof MetadataUpdate.RemovePartitionStatistics) {
      return new HashSet<>(now.partitionStatisticsFiles())
          .equals(new HashSet<>(sent.partitionStatisticsFiles()));
    }
    return false;
  }

  private boolean sameProperties(TableMetadata now, Set<String> names) {
    return names.stream()
        .allMatch(each -> Objects.equals(now.properties().get(each), sent.properties().get(each)));
  }

  /** A branch or tag was set as it was sent, though others may have written to it since. */
  private boolean hasReference(TableMetadata now, String name) {
    SnapshotRef wanted = sent.ref(name);
    SnapshotRef there = now.ref(name);
    if (wanted == null || there == null) {
      return wanted == there;
    }
    long to = wanted.snapshotId();
    SnapshotRef before = base == null ? null : base.ref(name);
    if (before == null || there.snapshotId() == to) {
      return there.equals(wanted);
    }
    long from = before.snapshotId();
    boolean isForward = SnapshotUtil.isAncestorOf(to, from, sent::snapshot);
    return isBelow(now, there, to) && (isForward || !isBelow(now, there, from));
  }

  private static boolean isBelow(TableMetadata now, SnapshotRef head, long snapshot) {
    return SnapshotUtil.isAncestorOf(head.snapshotId(), snapshot, now::snapshot);
  }
}
