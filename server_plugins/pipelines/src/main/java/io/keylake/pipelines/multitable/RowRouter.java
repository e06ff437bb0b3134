package io.keylake.pipelines.multitable;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.VERSION_MISSING;

import io.keylake.pipelines.multitable.Targets.Target;
import io.keylake.tables.KeylakeException;
import java.util.HashSet;
import java.util.Iterator;
import java.util.NoSuchElementException;
import java.util.Objects;
import java.util.Set;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/** The rows of a frame, decoded, on their way to the tasks that write them. */
final class RowRouter implements Iterator<InternalRow> {
  private static final Set<String> OPERATIONS = Set.of("c", "u", "d", "r");
  private static final int LONGEST_SHOWN = 300;
  private static final int MOST_UNLISTED = 1000;

  private static final int TABLE = 0;
  private static final int OP = 1;
  private static final int VERSION = 2;
  private static final int ROW = 3;

  private final Iterator<InternalRow> rows;
  private final Targets targets;
  private final RowDecoder[] decoders;
  private final Set<String> unlisted = new HashSet<>();
  private final MovedRows moved = new MovedRows();
  private @Nullable InternalRow next;
  private UTF8String lastName = UTF8String.EMPTY_UTF8; // rows of a table follow each other, mostly
  private @Nullable Integer lastTable;

  /**
   * @param rows with the columns table, op, version and row
   */
  RowRouter(Iterator<InternalRow> rows, Targets targets) {
    this.rows = rows;
    this.targets = targets;
    this.decoders = new RowDecoder[targets.tables().size()];
    this.lastTable = targets.numbers().get("");
  }

  @Override
  public boolean hasNext() {
    while (next == null && rows.hasNext()) {
      next = route(rows.next());
    }
    return next != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow found = Objects.requireNonNull(next, "there is one");
    next = null;
    return found;
  }

  /** The row on its way to its table; null for one that is left out. */
  private @Nullable InternalRow route(InternalRow row) {
    Integer table = number(row.isNullAt(TABLE) ? UTF8String.EMPTY_UTF8 : row.getUTF8String(TABLE));
    if (table == null) {
      String name = lastName.toString();
      boolean isNew = unlisted.size() < MOST_UNLISTED && unlisted.add(name);
      return isNew ? moved.unlisted(name, notListed(name)) : null;
    }
    Target target = targets.tables().get(table);
    return target == null ? null : route(row, table, target);
  }

  private static String notListed(String name) {
    String which = name.isEmpty() ? "no table" : "the table '" + name + "'";
    return KeylakeException.line(
        NOT_FOUND,
        "rows name %s, which is none of the tables of this write; they were not written; list it, or leave its rows out"
            .formatted(which));
  }

  private @Nullable Integer number(UTF8String name) {
    if (!name.equals(lastName)) {
      lastName = name.clone();
      lastTable = targets.numbers().get(name.toString());
    }
    return lastTable;
  }

  private InternalRow route(InternalRow row, int table, Target target) {
    long version = row.isNullAt(VERSION) ? Long.MIN_VALUE : row.getLong(VERSION);
    try {
      if (decoders[table] == null) {
        decoders[table] = new RowDecoder(target.schema());
      }
      RowDecoder decoder = decoders[table];
      decode(row, decoder, version);
      int task = targets.taskOf(table, decoder.bucket());
      return moved.row(table, decoder.place(), version, decoder.packed(), task);
    } catch (KeylakeException e) {
      return moved.refused(table, version, refusal(row, target, e), targets.taskOf(table, 0));
    }
  }

  private static void decode(InternalRow row, RowDecoder decoder, long version) {
    if (row.isNullAt(VERSION)) {
      throw new KeylakeException(VERSION_MISSING, "the version of the row is null");
    }
    UTF8String op = row.isNullAt(OP) ? UTF8String.fromString("null") : row.getUTF8String(OP);
    if (!OPERATIONS.contains(op.toString())) {
      throw new KeylakeException(
          BAD_ROWS, "the operation of the row is '%s'; it is one of c, u, d and r".formatted(op));
    }
    if (row.isNullAt(ROW)) {
      throw new KeylakeException(BAD_ROWS, "the row is null; it must be a JSON object");
    }
    decoder.read(row.getUTF8String(ROW).getBytes(), op, version);
  }

  private static String refusal(InternalRow row, Target target, KeylakeException why) {
    String shown =
        row.isNullAt(ROW)
            ? "null"
            : TextValues.shortened(row.getUTF8String(ROW).toString(), LONGEST_SHOWN);
    String version = row.isNullAt(VERSION) ? "null" : String.valueOf(row.getLong(VERSION));
    return KeylakeException.line(
        why.kind(),
        "%s; it is the row %s with version %s; no row of %s was written; correct the row, leave it out, or change the table, and write again"
            .formatted(why.sentence(), shown, version, target.name()));
  }
}
