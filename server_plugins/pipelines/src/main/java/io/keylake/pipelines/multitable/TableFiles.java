package io.keylake.pipelines.multitable;

import io.keylake.pipelines.multitable.Targets.Target;
import io.keylake.spark.write.TableWrite;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.write.DataWriter;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.jspecify.annotations.Nullable;

/**
 * Writes the sorted rows of a part, table by table, so that one file is open at a time however many
 * tables there are. The first row that is refused ends its table, and no other one.
 */
final class TableFiles {
  /**
   * The result for the rows of a table in a part.
   *
   * @param table its number
   * @param name of a table that the write does not know; null for the others
   * @param files null where a row was refused
   * @param failure null where none was
   */
  record Written(
      int table,
      @Nullable String name,
      @Nullable WriterCommitMessage files,
      @Nullable String failure)
      implements Serializable {}

  private final Targets targets;
  private final int part;
  private final long attempt;
  private final List<Written> done = new ArrayList<>();
  private @Nullable DataWriter<InternalRow> writer; // null where the table at hand has failed
  private @Nullable UnsafeRow row;
  private int table = MovedRows.UNLISTED;

  /**
   * @param part which no other part of the write has with the same attempt
   */
  TableFiles(Targets targets, int part, long attempt) {
    this.targets = targets;
    this.part = part;
    this.attempt = attempt;
  }

  /** Writes all rows of the part, or leaves none of its files. */
  List<Written> write(Iterator<InternalRow> sorted) {
    try {
      while (sorted.hasNext()) {
        add(sorted.next());
      }
      finish();
      return done;
    } catch (Throwable e) {
      abort(e);
      throw e;
    }
  }

  private void add(InternalRow moved) {
    int number = MovedRows.table(moved);
    String failure = MovedRows.failure(moved);
    if (number == MovedRows.UNLISTED) {
      done.add(new Written(number, MovedRows.name(moved), null, failure));
      return;
    }
    if (number != table) {
      finish();
      table = number;
      if (failure == null) {
        begin(number);
      } else {
        done.add(new Written(number, null, null, failure));
      }
    }
    if (writer != null) {
      write(writer, moved);
    }
  }

  private void begin(int number) {
    Target target = Objects.requireNonNull(targets.tables().get(number), "of a table with rows");
    row = new UnsafeRow(TableWrite.rowType(target.schema()).size());
    try {
      writer = target.writers().writer(part, attempt);
    } catch (KeylakeException e) {
      fail(e);
    }
  }

  private void write(DataWriter<InternalRow> open, InternalRow moved) {
    UnsafeRow unpacked = Objects.requireNonNull(row, "there since the table was begun");
    MovedRows.unpack(moved, unpacked);
    try {
      open.write(unpacked);
    } catch (KeylakeException e) {
      fail(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void finish() {
    if (writer == null) {
      return;
    }
    try {
      WriterCommitMessage files = writer.commit();
      writer.close();
      writer = null;
      done.add(new Written(table, null, files, null));
    } catch (KeylakeException e) {
      fail(e);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private void fail(KeylakeException why) {
    drop(why);
    done.add(new Written(table, null, null, KeylakeException.line(why.kind(), why.sentence())));
  }

  private void abort(Throwable why) {
    drop(why);
    delete(done, targets, why);
  }

  /** Deletes what is written; a file that cannot be deleted is told with the reason. */
  static void delete(List<Written> written, Targets targets, Throwable why) {
    for (Written each : written) {
      if (each.files() != null) {
        try {
          Objects.requireNonNull(targets.tables().get(each.table())).writers().delete(each.files());
        } catch (RuntimeException e) {
          why.addSuppressed(e);
        }
      }
    }
  }

  private void drop(Throwable why) {
    DataWriter<InternalRow> open = writer;
    writer = null;
    if (open != null) {
      try (open) {
        open.abort();
      } catch (IOException | RuntimeException e) {
        why.addSuppressed(e);
      }
    }
  }
}
