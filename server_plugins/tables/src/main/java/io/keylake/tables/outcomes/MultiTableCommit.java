package io.keylake.tables.outcomes;

import io.keylake.tables.catalogs.MetadataMove;
import io.keylake.tables.catalogs.PointerCatalog;
import io.keylake.tables.outcomes.TableChange.Trace;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A commit to several tables, which readers see as a whole or not at all, and of which it is
 * certain what became of it:
 *
 * <ol>
 *   <li>The new metadata of all tables is written, which changes nothing.
 *   <li>The catalog moves all tables to it in one step, if each is as it was.
 *   <li>Where the catalog does not say that it has, the tables are asked: one that has moved says
 *       that all have, and one that others have changed says that none has. While all are as
 *       before, the same step is sent again. If nothing helps, the outcome is told as unknown.
 * </ol>
 *
 * <p>Files are deleted only where it is certain that they belong to no table.
 */
public final class MultiTableCommit {
  private static final Logger LOG = LoggerFactory.getLogger(MultiTableCommit.class);

  private final PointerCatalog catalog;
  private final List<TableChange> changes;

  public MultiTableCommit(PointerCatalog catalog, List<TableChange> changes) {
    this.catalog = catalog;
    this.changes = List.copyOf(changes);
  }

  /**
   * Makes the commit.
   *
   * @throws CommitFailedException where another commit came first; nothing was changed
   * @throws CommitStateUnknownException where nobody says what became of it
   */
  public void make() {
    if (changes.stream().allMatch(TableChange::stays)) {
      return;
    }
    List<MetadataMove> moves = written();
    Patience patience = new Patience(changes.get(0).next());
    RuntimeException failure = null;
    while (true) {
      try {
        if (catalog.move(moves)) {
          break;
        }
      } catch (RuntimeException e) {
        failure = e;
      }
      Trace found = asked(moves, patience, failure);
      if (found == Trace.MADE) {
        LOG.warn("A commit to {} was made, though its catalog failed", names(), failure);
        break;
      }
      if (found == Trace.OTHERS) {
        delete(moves);
        throw new CommitFailedException(
            "another commit to one of %s came first; nothing was changed; load them and commit again",
            names());
      }
      if (!patience.pauses()) {
        throw unknown(failure);
      }
    }
    clean();
  }

  private List<MetadataMove> written() {
    List<MetadataMove> moves = new ArrayList<>();
    try {
      changes.forEach(each -> moves.add(each.written()));
    } catch (RuntimeException e) {
      delete(moves);
      throw e;
    }
    return moves;
  }

  /** The state of the commit, as far as the tables know it; they are asked until they answer. */
  private Trace asked(
      List<MetadataMove> moves, Patience patience, @Nullable RuntimeException failure) {
    while (true) {
      try {
        Set<Trace> found = EnumSet.noneOf(Trace.class);
        for (int i = 0; i < moves.size(); i++) {
          found.add(changes.get(i).trace(moves.get(i)));
        }
        for (Trace certain : List.of(Trace.MADE, Trace.OTHERS, Trace.UNKNOWN)) {
          if (found.contains(certain)) {
            return certain;
          }
        }
        return Trace.BEFORE;
      } catch (RuntimeException e) {
        if (!patience.pauses()) {
          throw unknown(failure == null ? e : failure);
        }
      }
    }
  }

  private CommitStateUnknownException unknown(@Nullable RuntimeException failure) {
    return new CommitStateUnknownException(
        "whether %s were changed is not known; no file was deleted".formatted(names()),
        failure == null ? new IllegalStateException("the catalog took no commit") : failure);
  }

  private String names() {
    return changes.stream().map(each -> each.table().toString()).collect(Collectors.joining(", "));
  }

  /** Deletes metadata that is certain to be that of no table. */
  private void delete(List<MetadataMove> moves) {
    for (int i = 0; i < moves.size(); i++) {
      if (!changes.get(i).stays()) {
        String location = moves.get(i).to();
        TableChange change = changes.get(i);
        quietly(() -> change.operations().io().deleteFile(location));
      }
    }
  }

  /** Metadata that the tables are told to forget goes, as after a commit of each. */
  private void clean() {
    for (TableChange each : changes) {
      TableMetadata base = each.base();
      if (base != null && !each.stays()) {
        quietly(
            () ->
                CatalogUtil.deleteRemovedMetadataFiles(each.operations().io(), base, each.next()));
      }
    }
  }

  private static void quietly(Runnable work) {
    try {
      work.run();
    } catch (RuntimeException e) {
      LOG.warn("A file of metadata that is not needed could not be deleted", e);
    }
  }
}
