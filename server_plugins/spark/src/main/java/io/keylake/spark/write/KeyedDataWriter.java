package io.keylake.spark.write;

import io.keylake.spark.python.PendingRows;
import io.keylake.spark.write.RowCheck.Operation;
import io.keylake.spark.write.WriteLayout.Column;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.connector.write.DataWriter;
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
final class KeyedDataWriter implements DataWriter<InternalRow> {
  /** What one task has written. */
  record Written(DataFile[] files, long rows, long minVersion, long maxVersion)
      implements WriterCommitMessage {}

  private static final int KEPT_BEFORE_DROPPING = 256;

  private final WriteLayout layout;
  private final Operation operation;
  private final RowVersions versions;
  private final RowCheck check;
  private final KeyEquality keys;
  private final RowFold fold;
  private final StoredRows stored;
  private final BucketFiles files;
  private final int[] inPython;
  private final @Nullable PendingRows pending; // null where no reducer is in Python
  private final List<InternalRow> ties = new ArrayList<>();
  private final List<UnsafeRow> copies = new ArrayList<>();
  private int kept;
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
    if (held != null && !(sameKey && version == heldVersion)) {
      foldTies();
      if (!sameKey) {
        store();
      }
    }
    if (!sameKey) {
      fold.start();
      kept = 0;
    }
    held = keep((UnsafeRow) incoming);
    heldBytes += ((UnsafeRow) incoming).getSizeInBytes();
    heldVersion = version;
    ties.add(held);
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
    switch (layout.op() >= 0 ? check.operation(row) : operation) {
      case WRITE -> fold.write(row, heldVersion, carried(row));
      case RETRACT -> fold.retract(row, heldVersion, carried(row));
      case DELETE -> fold.delete(row, heldVersion);
      case NOTHING -> {}
    }
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
    rows++;
    minVersion = Math.min(minVersion, fold.version());
    maxVersion = Math.max(maxVersion, fold.version());
  }

  @Override
  public WriterCommitMessage commit() throws IOException {
    if (held != null) {
      foldTies();
      store();
      held = null;
    }
    if (pending != null) {
      pending.flush();
    }
    return new Written(files.finish(), rows, minVersion, maxVersion);
  }

  @Override
  public void abort() throws IOException {
    files.abort();
  }

  @Override
  public void close() throws IOException {
    files.close();
  }

  /** Builds rows as they are stored; one row object serves all. */
  private static final class StoredRows {
    private final Column[] key;
    private final Column[] values;
    private final int[] keyPlaces;
    private final int[] valuePlaces;
    private final int bucket;
    private final int bucketPlace;
    private final int group;
    private final int groupPlace;
    private final int ordering;
    private final Object[] row;
    private final int version;
    private final int written;
    private final int deleted;
    private final int infoPlace;
    private final int statesMember;
    private final Object[] info;
    private final Object[] lags;
    private final Object[] states;
    private final GenericInternalRow asRow;

    StoredRows(KeyedSchema schema, WriteLayout layout) {
      key = layout.key().toArray(Column[]::new);
      values = layout.values().toArray(Column[]::new);
      List<String> names = names(layout.stored().asStruct());
      keyPlaces =
          layout.key().stream().mapToInt(column -> names.indexOf(column.field().name())).toArray();
      valuePlaces =
          layout.values().stream()
              .mapToInt(column -> names.indexOf(column.field().name()))
              .toArray();
      bucket = layout.bucket();
      bucketPlace = names.indexOf(KeyedSchema.BUCKET);
      group = layout.group();
      groupPlace = names.indexOf(KeyedSchema.GROUP);
      ordering = layout.ordering(schema);
      row = new Object[names.size()];
      StructType versions =
          layout.stored().asStruct().field(KeyedSchema.MERGE_INFO).type().asStructType();
      List<String> members = names(versions);
      version = members.indexOf(KeyedSchema.VERSION);
      written = members.indexOf(KeyedSchema.WRITTEN);
      deleted = members.indexOf(KeyedSchema.DELETED);
      info = new Object[members.size()];
      lags = new Object[versions.field(KeyedSchema.COLUMNS).type().asStructType().fields().size()];
      info[members.indexOf(KeyedSchema.COLUMNS)] = new GenericInternalRow(lags);
      states = new Object[(int) layout.values().stream().filter(v -> v.state() >= 0).count()];
      statesMember = members.indexOf(KeyedSchema.STATES);
      if (states.length > 0) {
        info[statesMember] = new GenericInternalRow(states);
      }
      infoPlace = names.indexOf(KeyedSchema.MERGE_INFO);
      row[infoPlace] = new GenericInternalRow(info);
      asRow = new GenericInternalRow(row);
    }

    InternalRow of(RowFold fold) {
      InternalRow keyRow = fold.keyRow();
      for (int i = 0; i < key.length; i++) {
        row[keyPlaces[i]] = keyRow.get(key[i].position(), key[i].type());
      }
      if (bucketPlace >= 0) {
        row[bucketPlace] = keyRow.getInt(bucket);
      }
      if (groupPlace >= 0) {
        row[groupPlace] = keyRow.getInt(group);
      }
      long newest = fold.version();
      for (int i = 0; i < values.length; i++) {
        row[valuePlaces[i]] = fold.value(i);
        lags[values[i].leaf()] = fold.carries(i) ? (Object) (newest - fold.at(i)) : null;
        if (values[i].state() >= 0) {
          states[values[i].state()] = fold.state(i);
        }
      }
      info[version] = isOrderingValue(fold, newest) ? null : (Object) newest;
      if (written >= 0) {
        info[written] = fold.isWritten() ? (Object) (newest - fold.writtenAt()) : null;
      }
      if (deleted >= 0) {
        info[deleted] = fold.isDeleted() ? (Object) (newest - fold.deletedAt()) : null;
      }
      return asRow;
    }

    /** Where what is gathered for columns goes, when it is reduced. */
    PendingRows pending(RowFold fold, int[] columns, PendingRows.Target target) {
      List<PendingRows.Column> gathered =
          IntStream.of(columns)
              .mapToObj(
                  i ->
                      new PendingRows.Column(
                          Objects.requireNonNull(fold.gathered(i)),
                          valuePlaces[i],
                          values[i].state()))
              .toList();
      return new PendingRows(
          gathered,
          new PendingRows.Info(infoPlace, info.length, statesMember, states.length),
          target);
    }

    private static List<String> names(StructType struct) {
      return struct.fields().stream().map(NestedField::name).toList();
    }

    /** Where the stored ordering column says the version already, it is not stored twice. */
    private boolean isOrderingValue(RowFold fold, long newest) {
      InternalRow winner = ordering < 0 ? null : fold.winner(ordering);
      if (winner == null || winner.isNullAt(values[ordering].position())) {
        return false;
      }
      Column column = values[ordering];
      return RowVersions.value(winner, column.position(), column.type()) == newest;
    }
  }
}
