package io.keylake.spark.write.tasks;

import io.keylake.spark.reducers.user.RowBuffer;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.spark.write.tasks.RowCheck.Operation;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.write.WriterCommitMessage;
import org.apache.spark.unsafe.types.ByteArray;
import org.jspecify.annotations.Nullable;

/**
 * Turns the sorted rows of one task into files. Rows come by (bucket, sort key, version, row
 * order):
 *
 * <ol>
 *   <li>A row with a new key ends the key before it: its rows have been folded into one, which is
 *       stored.
 *   <li>Rows of one key and one version are folded in row order; where the write has none, in the
 *       order of their bytes, so that the choice does not depend on how the rows arrived.
 * </ol>
 */
public final class KeyedDataWriter implements TaskWriter {
  /**
   * The result of one task: its files, and the number and the versions of its rows.
   *
   * @param lateRows of its rows that are late
   * @param held the same of rows that are held back; null where none can be
   */
  public record Written(
      DataFile[] files,
      long rows,
      long minVersion,
      long maxVersion,
      long lateRows,
      @Nullable Written held)
      implements WriterCommitMessage {

    Written holding(Written back) {
      return new Written(files, rows, minVersion, maxVersion, lateRows, back);
    }

    /** The same with late rows. */
    Written and(Written late) {
      List<DataFile> both = new ArrayList<>(List.of(files));
      both.addAll(List.of(late.files));
      return new Written(
          both.toArray(DataFile[]::new),
          rows + late.rows,
          Math.min(minVersion, late.minVersion),
          Math.max(maxVersion, late.maxVersion),
          late.rows,
          held);
    }

    /** The files of all rows. */
    public List<DataFile> all() {
      List<DataFile> all = new ArrayList<>(List.of(files));
      if (held != null) {
        all.addAll(held.all());
      }
      return all;
    }
  }

  private static final int KEPT_BEFORE_DROPPING = 256;

  private final WriteLayout layout;
  private final Operation operation;
  private final RowVersions versions;
  private final RowCheck check;
  private final KeyEquality keys;
  private final RowFold fold;
  private final StoredRows stored;
  private final boolean tellsAlone;
  private final BucketFiles files;
  private final int[] inPython;
  private final @Nullable RowBuffer pending; // null where no reducer is in Python
  private final List<InternalRow> ties = new ArrayList<>();
  private final List<UnsafeRow> copies = new ArrayList<>();
  private int kept;
  private boolean isFolded; // whether the key has rows in the fold
  private int keptBeforeDropping = KEPT_BEFORE_DROPPING;
  private @Nullable InternalRow held;
  private long heldVersion;
  private long heldBytes;
  private long rows;
  private long minVersion = Long.MAX_VALUE;
  private long maxVersion = Long.MIN_VALUE;

  KeyedDataWriter(
      KeyedSchema schema,
      WriteLayout layout,
      WriteOptions.Verb verb,
      RowVersions versions,
      BucketFiles files) {
    this.layout = layout;
    this.operation =
        verb == WriteOptions.Verb.DELETE
            ? Operation.DELETE
            : layout.retracts() ? Operation.RETRACT : Operation.WRITE;
    this.versions = versions;
    this.check = new RowCheck(layout, schema.spec());
    this.keys = new KeyEquality(layout);
    this.fold = new RowFold(layout, versions);
    this.stored = new StoredRows(schema, layout);
    this.tellsAlone = operation == Operation.WRITE && stored.tellsAlone();
    this.files = files;
    this.inPython =
        IntStream.range(0, layout.values().size())
            .filter(value -> fold.gathered(value) != null)
            .toArray();
    this.pending = inPython.length == 0 ? null : stored.pending(fold, inPython, files::write);
  }

  @Override
  public void write(InternalRow incoming) throws IOException {
    check.check(incoming);
    long version = versions.of(incoming);
    boolean sameKey = held != null && keys.same(held, incoming);
    if (held != null && !sameKey) {
      endKey(held);
    } else if (version != heldVersion) {
      foldTies();
    }
    if (!sameKey) {
      kept = 0;
      isFolded = false;
    }
    held = keep((UnsafeRow) incoming);
    heldBytes += ((UnsafeRow) incoming).getSizeInBytes();
    heldVersion = version;
    ties.add(held);
  }

  /** Stores what the rows of a key come to. Most keys have one row, which needs no fold. */
  private void endKey(InternalRow last) throws IOException {
    if (tellsAlone && !isFolded && ties.size() == 1 && operation(last) == Operation.WRITE) {
      ties.clear();
      files.write(last, stored.of(last, heldVersion));
      count(heldVersion);
    } else {
      foldTies();
      store();
    }
  }

  /** Stores nothing of the key of a row, which has all that older rows of it say. */
  void forget(InternalRow newer) {
    if (held != null && keys.same(held, newer)) {
      held = null;
      ties.clear();
    }
  }

  /**
   * Spark uses the incoming row again; its copy is needed until the key ends, and then used again
   * as well.
   */
  private UnsafeRow keep(UnsafeRow incoming) {
    if (kept >= keptBeforeDropping && ties.isEmpty()) {
      dropLosers();
    }
    if (kept == copies.size()) {
      copies.add(incoming.copy());
    } else {
      copies.get(kept).copyFrom(incoming);
    }
    return copies.get(kept++);
  }

  /** However many rows a key has in one write, only those that still win some column are kept. */
  private void dropLosers() {
    int winners = 0;
    for (int i = 0; i < kept; i++) {
      if (fold.holds(copies.get(i))) {
        Collections.swap(copies, winners++, i);
      }
    }
    kept = winners;
    keptBeforeDropping = Math.max(KEPT_BEFORE_DROPPING, 2 * winners);
  }

  private void foldTies() {
    if (!isFolded) {
      fold.start();
      isFolded = true;
    }
    if (ties.size() > 1 && layout.rowOrder() < 0) {
      ties.sort(KeyedDataWriter::byBytes);
    }
    for (InternalRow row : ties) {
      foldRow(row);
    }
    ties.clear();
  }

  private static int byBytes(InternalRow a, InternalRow b) {
    return ByteArray.compareBinary(((UnsafeRow) a).getBytes(), ((UnsafeRow) b).getBytes());
  }

  private void foldRow(InternalRow row) {
    switch (operation(row)) {
      case WRITE -> fold.write(row, heldVersion, carried(row));
      case RETRACT -> fold.retract(row, heldVersion, carried(row));
      case DELETE -> fold.delete(row, heldVersion);
      case NOTHING -> {}
    }
  }

  private Operation operation(InternalRow row) {
    return layout.op() >= 0 ? check.operation(row) : operation;
  }

  private boolean @Nullable [] carried(InternalRow row) {
    return layout.columnsFrom() >= 0 ? check.carried(row) : null;
  }

  private void store() throws IOException {
    if (fold.saysNothing()) {
      return;
    }
    if (pending == null) {
      files.write(fold.keyRow(), stored.of(fold));
    } else {
      int[] gathered = IntStream.of(inPython).map(fold::gatheredAs).toArray();
      pending.add(fold.keyRow(), stored.of(fold), gathered, heldBytes);
      heldBytes = 0;
    }
    count(fold.version());
  }

  private void count(long version) {
    rows++;
    minVersion = Math.min(minVersion, version);
    maxVersion = Math.max(maxVersion, version);
  }

  @Override
  public Written commit() throws IOException {
    if (held != null) {
      endKey(held);
      held = null;
    }
    if (pending != null) {
      pending.flush();
    }
    return new Written(files.finish(), rows, minVersion, maxVersion, 0, null);
  }

  @Override
  public void abort() throws IOException {
    files.abort();
  }

  @Override
  public void close() throws IOException {
    files.close();
  }
}
