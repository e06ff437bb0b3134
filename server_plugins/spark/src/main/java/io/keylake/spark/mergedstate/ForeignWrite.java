package io.keylake.spark.mergedstate;

import com.google.common.base.Throwables;
import io.keylake.spark.adoption.AdoptedRows;
import io.keylake.spark.catalog.TableNames;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.NoAnswer;
import io.keylake.tables.adoption.AdoptedCommit;
import io.keylake.tables.adoption.AdoptedTable;
import io.keylake.tables.branches.MergedBranch;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.TableSpec;
import io.keylake.tables.spec.TableSpec.Versions;
import io.keylake.tables.storage.StatesFolder;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataOperations;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.MetadataUpdate;
import org.apache.iceberg.MetadataUpdate.AddSnapshot;
import org.apache.iceberg.MetadataUpdate.SetSnapshotRef;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotChanges;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.BadRequestException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.ForbiddenException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.SparkException;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.jspecify.annotations.Nullable;

/**
 * A commit of an engine that does not merge, to the merged state that it has loaded, as a write to
 * the keyed table:
 *
 * <ol>
 *   <li>Rows of its data files are upserts, at the version that the rule of the table gives. Rows
 *       that it has removed, by deletion vectors, equality deletes or with their files, are
 *       deletes.
 *   <li>A commit that removes rows has read the state: it conflicts with commits that came since.
 *   <li>The write has the idempotency key of the snapshot, so that a commit that is sent again is
 *       made once.
 * </ol>
 *
 * @param commit what has happened to rows
 * @param readAt the commit of main that was read; null for a commit that only appends
 */
record ForeignWrite(AdoptedTable state, AdoptedCommit commit, String key, @Nullable Long readAt) {
  private static final String KEY = "iceberg-snapshot-";
  private static final String OWN = "keylake.";

  /**
   * The write of a request; empty where it was made before.
   *
   * @param now the state as it is served
   */
  static Optional<ForeignWrite> of(
      Table table, TableIdentifier name, TableMetadata now, UpdateTableRequest request) {
    Snapshot snapshot = snapshot(name, request.updates());
    String key = KEY + snapshot.snapshotId();
    if (isMade(table, key)) {
      return Optional.empty();
    }
    request.requirements().forEach(each -> each.validate(now)); // a conflict, if the state moved on
    checkParent(name, now, snapshot);
    KeyedSchema schema = KeyedSchema.of(table);
    if (!now.schema().sameSchema(schema.visible())) { // another column may have the name now
      throw new CommitFailedException(
          "the columns of table %s have changed since it was loaded; load it and commit again",
          name);
    }
    TableMetadata with =
        TableMetadata.buildFrom(now).setBranchSnapshot(snapshot, SnapshotRef.MAIN_BRANCH).build();
    Table foreign = new BaseTable(new StaticTableOperations(with, table.io()), table.name());
    List<NestedField> keyColumns =
        foreign.schema().columns().stream()
            .filter(field -> schema.spec().key().contains(field.name()))
            .toList();
    AdoptedTable state = new AdoptedTable(foreign, name.toString(), keyColumns);
    AdoptedCommit commit = commit(name, table, state, snapshot);
    boolean isAppend =
        DataOperations.APPEND.equals(snapshot.operation())
            && commit.deletes().isEmpty()
            && commit.before().isEmpty();
    check(name, schema, snapshot, isAppend);
    return Optional.of(new ForeignWrite(state, commit, key, isAppend ? null : source(now)));
  }

  private static boolean isMade(Table table, String key) {
    table.refresh();
    return !new CommitLog(table, null)
        .entries(entry -> key.equals(entry.idempotencyKey()), 1)
        .isEmpty();
  }

  /** The changes of rows by the commit, of files that lie where the client was told to write. */
  private static AdoptedCommit commit(
      TableIdentifier name, Table table, AdoptedTable state, Snapshot snapshot) {
    checkPlace(name, table, snapshot.manifestListLocation());
    try {
      for (ManifestFile manifest : snapshot.allManifests(table.io())) {
        checkPlace(name, table, manifest.path());
      }
      SnapshotChanges changes =
          SnapshotChanges.builderFor(state.table()).snapshot(snapshot).build();
      for (DataFile file : changes.addedDataFiles()) {
        checkPlace(name, table, file.location());
        checkContent(name, table, new ForeignFile(file, state.table().schema()));
      }
      for (DeleteFile file : changes.addedDeleteFiles()) {
        if (!StatesFolder.isBeside(table, file.location())) {
          checkPlace(name, table, file.location());
        }
      }
      return AdoptedCommit.of(state, snapshot);
    } catch (NotFoundException | UncheckedIOException e) {
      if (NoAnswer.in(e).isPresent()) {
        throw e;
      }
      throw unreadable(name, snapshot, e);
    }
  }

  /** The server reads with rights that the client may not have. */
  private static void checkPlace(TableIdentifier name, Table table, String file) {
    if (!StatesFolder.holds(table, file)) {
      throw refused(
          name,
          "takes files of other engines from its folder %s alone, and not %s"
              .formatted(StatesFolder.of(table), file));
    }
  }

  private static void checkContent(TableIdentifier name, Table table, ForeignFile file) {
    file.fault(table.io())
        .ifPresent(
            fault -> {
              throw new BadRequestException(
                  "file %s cannot be taken into table %s: %s; nothing was written",
                  file.file().location(), name, fault);
            });
  }

  private static BadRequestException unreadable(
      TableIdentifier name, Snapshot snapshot, Throwable failure) {
    return new BadRequestException(
        failure,
        "the files of commit %d to table %s cannot be read: %s; nothing was written",
        snapshot.snapshotId(),
        name,
        Throwables.getRootCause(failure).getMessage());
  }

  /** Rows that are changed are those of the parent, whatever the requirements say. */
  private static void checkParent(TableIdentifier name, TableMetadata now, Snapshot snapshot) {
    Snapshot head = now.currentSnapshot();
    Long newest = head == null ? null : head.snapshotId();
    if (!Objects.equals(newest, snapshot.parentId())) {
      throw new CommitFailedException(
          "commit %d was made of snapshot %s of table %s, and the newest one is %s; load it and commit again",
          snapshot.snapshotId(), snapshot.parentId(), name, newest);
    }
  }

  private static @Nullable Long source(TableMetadata state) {
    Snapshot head = state.currentSnapshot();
    return head == null ? null : Long.valueOf(head.summary().get(MergedBranch.SOURCE));
  }

  private static Snapshot snapshot(TableIdentifier name, List<MetadataUpdate> updates) {
    Snapshot found = null;
    boolean isShown = false;
    for (MetadataUpdate update : updates) {
      if (update instanceof AddSnapshot && found != null) {
        throw refused(
            name,
            "takes one change of rows of another engine in a commit, and this one has several; commit each by itself");
      } else if (update instanceof AddSnapshot added) {
        found = added.snapshot();
      } else if (update instanceof SetSnapshotRef ref
          && ref.name().equals(SnapshotRef.MAIN_BRANCH)
          && found != null
          && ref.snapshotId() == found.snapshotId()) {
        isShown = true;
      } else {
        throw refused(
            name,
            "takes rows of other engines in one commit to main, and no other change (%s)"
                .formatted(update.getClass().getSimpleName()));
      }
    }
    if (found == null || !isShown) {
      throw refused(name, "takes rows of other engines, and the commit adds none to main");
    }
    for (String property : found.summary().keySet()) {
      if (property.startsWith(OWN)) {
        throw refused(
            name,
            "takes no commit of another engine with the property '%s' in its summary"
                .formatted(property));
      }
    }
    return found;
  }

  private static void check(
      TableIdentifier name, KeyedSchema schema, Snapshot snapshot, boolean isAppend) {
    TableSpec spec = schema.spec();
    if (DataOperations.REPLACE.equals(snapshot.operation())) {
      throw refused(name, "is compacted by keylake alone");
    }
    if (spec.versions() == Versions.EXPLICIT && spec.ordering() == null) {
      throw refused(name, "has versions that each write states, which rows of other engines lack");
    }
    if (isAppend) {
      return;
    }
    if (spec.ordering() != null) {
      throw refused(
          name,
          "is ordered by column '%s', of which a deleted row has no new value; rows can be appended"
              .formatted(spec.ordering()));
    }
    List<String> combined =
        schema.values().stream()
            .map(NestedField::name)
            .filter(column -> spec.reducer(column).kind() != Reducer.Kind.LATEST)
            .toList();
    if (!combined.isEmpty()) {
      throw refused(
          name,
          "combines column '%s' of several writes, so that a changed row says no contribution; rows can be appended"
              .formatted(combined.get(0)));
    }
  }

  private static ForbiddenException refused(TableIdentifier name, String why) {
    return new ForbiddenException(
        "table %s is keyed, and %s; use keylake, or Spark with its plug-in, for all else",
        name, why);
  }

  /** Writes the rows, unless somebody else was first. */
  void make(String catalog, TableIdentifier name, Table table) {
    writeTo(TableNames.inSql(catalog, name), name, table);
  }

  /** Writes the rows to a branch of the table. */
  void makeOn(String branch, String catalog, TableIdentifier name, Table table) {
    String part = QuotingUtils.quoteIdentifier("branch_" + branch);
    writeTo(TableNames.inSql(catalog, name) + "." + part, name, table);
  }

  private void writeTo(String target, TableIdentifier name, Table table) {
    if (commit.isEmpty()) {
      return;
    }
    SparkSession.setActiveSession(SparkSession.getDefaultSession().get());
    try (AdoptedRows rows = AdoptedRows.of(state, target)) {
      AdoptedRows.Writing writing = rows.withoutVersion(commit);
      Map<String, String> options = new HashMap<>(writing.options());
      options.put("idempotency_key", key);
      if (readAt != null) {
        options.put("read_at", String.valueOf(readAt));
      }
      writing.rows().writeTo(target).options(options).append();
    } catch (NoSuchTableException e) {
      throw new KeylakeException(
          KeylakeException.Kind.NOT_FOUND, "table %s was dropped meanwhile".formatted(name), e);
    } catch (Exception e) { // Scala throws checked ones, too
      if (e instanceof SparkException && !isMade(table, key)) {
        throw unreadable(name, commit.commit(), e);
      }
      throw e;
    } finally {
      SparkSession.clearActiveSession();
    }
  }
}
