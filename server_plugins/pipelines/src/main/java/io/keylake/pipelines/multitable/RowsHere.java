package io.keylake.pipelines.multitable;

import io.keylake.pipelines.multitable.TableFiles.Written;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;

/**
 * Writes the rows of a write that are few in this process: they are decoded and sorted here, and
 * the files of several tables are written at once. A job takes longer to start than that takes.
 *
 * <p>Where the write ends before all tables are written, none of the files is left: those that are
 * there are deleted, and a table that is being written then deletes its own at its end.
 */
final class RowsHere {
  private final Targets targets;
  private final List<Written> done = new ArrayList<>();
  private boolean isOver;

  /**
   * @param targets of one task
   */
  RowsHere(Targets targets) {
    this.targets = targets;
  }

  /**
   * @param rows with the columns table, op, version and row
   * @param threads that write the tables
   */
  List<Written> write(List<InternalRow> rows, TableThreads threads) {
    List<List<InternalRow>> tables = tables(sorted(rows));
    List<Integer> parts = new ArrayList<>();
    tables.forEach(each -> parts.add(parts.size()));
    try {
      threads.map(parts, part -> keep(written(tables.get(part), part)));
    } catch (Throwable e) {
      giveUp(e);
      throw e;
    }
    return done;
  }

  private List<InternalRow> sorted(List<InternalRow> rows) {
    List<InternalRow> sorted = new ArrayList<>();
    new RowRouter(rows.iterator(), targets).forEachRemaining(row -> sorted.add(row.copy()));
    sorted.sort(MovedRows.ORDER);
    return sorted;
  }

  private static List<List<InternalRow>> tables(List<InternalRow> sorted) {
    List<List<InternalRow>> tables = new ArrayList<>();
    int begin = 0;
    for (int i = 1; i <= sorted.size(); i++) {
      if (i == sorted.size()
          || MovedRows.table(sorted.get(i)) != MovedRows.table(sorted.get(begin))) {
        tables.add(sorted.subList(begin, i));
        begin = i;
      }
    }
    return tables;
  }

  private List<Written> written(List<InternalRow> rows, int part) {
    return new TableFiles(targets, part, 0).write(rows.iterator());
  }

  private synchronized boolean keep(List<Written> written) {
    if (isOver) {
      TableFiles.delete(written, targets, new IllegalStateException("the write is over"));
    } else {
      done.addAll(written);
    }
    return !isOver;
  }

  private synchronized void giveUp(Throwable why) {
    isOver = true;
    TableFiles.delete(done, targets, why);
  }
}
