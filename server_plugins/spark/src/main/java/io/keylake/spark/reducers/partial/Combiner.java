package io.keylake.spark.reducers.partial;

import io.keylake.tables.KeylakeException;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Objects;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.execution.metric.SQLMetric;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The rows of a task, some of them combined. A few keys are held, each in the place that its hash
 * names. A row of another key takes the place, unless the key there came often: then the row passes
 * on as it is. What is held comes last.
 *
 * <ol>
 *   <li>Where few rows find their key, most that follow pass on without a look.
 *   <li>When the rows that were taken have {@link #MOST_BYTES}, all that is held passes on: no
 *       accumulator is much larger than its contributions.
 * </ol>
 */
final class Combiner implements Iterator<InternalRow> {
  private static final int PLACES = 1024;
  private static final int LOOKED_AT = 8 * PLACES;
  private static final int WORTH_IT = LOOKED_AT / 8;
  private static final int NOT_LOOKED_AT = 32 * LOOKED_AT;
  private static final long MOST_BYTES = 32L << 20;

  private final Iterator<InternalRow> incoming;
  private final CombineSpec combining;
  private final SQLMetric rowsOut;
  private final UnsafeProjection keyOf;
  private final UnsafeProjection whole;
  private final @Nullable KeyBuffer[] held = new KeyBuffer[PLACES];
  private int leftToPass;
  private int leftToLookAt = LOOKED_AT;
  private int found;
  private long bytes;
  private int emptied = PLACES; // places before this one have passed on what they held
  private @Nullable InternalRow next;

  Combiner(Iterator<InternalRow> incoming, CombineSpec combining, SQLMetric rowsOut) {
    this.incoming = incoming;
    this.combining = combining;
    this.rowsOut = rowsOut;
    this.whole = projection(allOf(combining), combining);
    this.keyOf = projection(combining.key(), combining);
  }

  private static List<Integer> allOf(CombineSpec combining) {
    List<Integer> all = new ArrayList<>();
    combining.types().forEach(type -> all.add(all.size()));
    return all;
  }

  private static UnsafeProjection projection(List<Integer> columns, CombineSpec combining) {
    List<Expression> found = new ArrayList<>();
    columns.forEach(
        column -> found.add(new BoundReference(column, combining.types().get(column), true)));
    return UnsafeProjection.create(CollectionConverters.asScala(found).toSeq());
  }

  @Override
  public boolean hasNext() {
    if (next == null) {
      next = found();
    }
    return next != null;
  }

  @Override
  public InternalRow next() {
    if (!hasNext()) {
      throw new NoSuchElementException();
    }
    InternalRow row = Objects.requireNonNull(next);
    next = null;
    rowsOut.add(1);
    return row;
  }

  private @Nullable InternalRow found() {
    while (true) {
      InternalRow row = nextHeld();
      if (row != null) {
        return row;
      }
      if (!incoming.hasNext()) {
        if (!startEmptying()) {
          return null;
        }
      } else {
        row = passing((UnsafeRow) incoming.next());
        if (row != null) {
          return row;
        }
      }
    }
  }

  /** The next of the rows that were held, while they are passed on. */
  private @Nullable InternalRow nextHeld() {
    while (emptied < PLACES) {
      int place = emptied++;
      KeyBuffer there = held[place];
      if (there != null) {
        held[place] = null;
        return whole.apply(there.row());
      }
    }
    return null;
  }

  private boolean startEmptying() {
    bytes = 0;
    emptied = 0;
    for (KeyBuffer one : held) {
      if (one != null) {
        return true;
      }
    }
    emptied = PLACES;
    return false;
  }

  /** The row that passes on when a row comes: this row or another one; null for none. */
  private @Nullable InternalRow passing(UnsafeRow row) {
    if (leftToPass > 0) {
      leftToPass--;
      return row;
    }
    if (leftToLookAt-- == 0) {
      look();
    }
    UnsafeRow key = keyOf.apply(row);
    if (key.anyNull() || lacksSomething(row)) {
      return row;
    }
    int place = key.hashCode() & PLACES - 1;
    KeyBuffer there = held[place];
    if (there == null) {
      held[place] = new KeyBuffer(combining, key, row);
      took(row);
      return null;
    }
    if (there.isOf(key)) {
      return added(there, row) ? null : row;
    }
    if (there.stays()) {
      return row;
    }
    InternalRow out = whole.apply(there.row());
    there.replace(key, row);
    took(row);
    return out;
  }

  private void took(UnsafeRow row) {
    bytes += row.getSizeInBytes();
    if (bytes > MOST_BYTES) {
      startEmptying();
    }
  }

  private void look() {
    if (found < WORTH_IT) {
      leftToPass = NOT_LOOKED_AT;
    }
    found = 0;
    leftToLookAt = LOOKED_AT;
  }

  /**
   * The writer refuses rows without a version. Where versions differ, a column that says nothing
   * has an older one than the row, which a combined row cannot say.
   */
  private boolean lacksSomething(UnsafeRow row) {
    if (combining.version() < 0) {
      return false;
    }
    return row.isNullAt(combining.version())
        || combining.accumulated().stream().anyMatch(column -> row.isNullAt(column.position()));
  }

  /**
   * Combines a row; returns false for one that a reducer refuses, which goes to the writer: that
   * says why.
   */
  private boolean added(KeyBuffer there, UnsafeRow row) {
    try {
      there.add(row);
    } catch (KeylakeException e) {
      return false;
    }
    found++;
    took(row);
    return true;
  }
}
