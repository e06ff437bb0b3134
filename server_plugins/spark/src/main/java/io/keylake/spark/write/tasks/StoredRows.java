package io.keylake.spark.write.tasks;

import io.keylake.spark.reducers.user.RowBuffer;
import io.keylake.spark.write.tasks.WriteLayout.Column;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.types.Types.StructType;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import scala.Function2;

/** Builds rows as they are stored; one row object serves all. */
final class StoredRows {
  private final Column[] key;
  private final Column[] values;
  private final List<Function2<SpecializedGetters, Object, Object>> keyGetters;
  private final List<Function2<SpecializedGetters, Object, Object>> valueGetters;
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
  private final boolean tellsAlone;
  private final GenericInternalRow asRow;

  StoredRows(KeyedSchema schema, WriteLayout layout) {
    key = layout.key().toArray(Column[]::new);
    values = layout.values().toArray(Column[]::new);
    keyGetters = getters(layout.key());
    valueGetters = getters(layout.values());
    Map<String, Integer> places = places(layout.stored().asStruct());
    keyPlaces =
        layout.key().stream()
            .mapToInt(column -> places.getOrDefault(column.field().name(), -1))
            .toArray();
    valuePlaces =
        layout.values().stream()
            .mapToInt(column -> places.getOrDefault(column.field().name(), -1))
            .toArray();
    bucket = layout.bucket();
    bucketPlace = places.getOrDefault(KeyedSchema.BUCKET, -1);
    group = layout.group();
    groupPlace = places.getOrDefault(KeyedSchema.GROUP, -1);
    ordering = layout.ordering(schema);
    row = new Object[places.size()];
    StructType versions =
        layout.stored().asStruct().field(KeyedSchema.MERGE_INFO).type().asStructType();
    Map<String, Integer> members = places(versions);
    version = members.getOrDefault(KeyedSchema.VERSION, -1);
    written = members.getOrDefault(KeyedSchema.WRITTEN, -1);
    deleted = members.getOrDefault(KeyedSchema.DELETED, -1);
    info = new Object[members.size()];
    lags = new Object[versions.field(KeyedSchema.COLUMNS).type().asStructType().fields().size()];
    info[members.getOrDefault(KeyedSchema.COLUMNS, -1)] = new GenericInternalRow(lags);
    states = new Object[(int) layout.values().stream().filter(v -> v.state() >= 0).count()];
    statesMember = members.getOrDefault(KeyedSchema.STATES, -1);
    if (states.length > 0) {
      info[statesMember] = new GenericInternalRow(states);
    }
    infoPlace = places.getOrDefault(KeyedSchema.MERGE_INFO, -1);
    row[infoPlace] = new GenericInternalRow(info);
    tellsAlone =
        layout.columnsFrom() < 0
            && layout.values().stream()
                .allMatch(
                    column ->
                        column.versionedBy() == null
                            && !column.reducer().accumulates()
                            && !column.reducer().skipsNulls());
    asRow = new GenericInternalRow(row);
  }

  /** Each knows its type, which get() of a row would look up for each value. */
  private static List<Function2<SpecializedGetters, Object, Object>> getters(List<Column> columns) {
    return columns.stream().map(column -> InternalRow.getAccessor(column.type(), true)).toList();
  }

  /** A written row without others of its key is stored as it is. */
  boolean tellsAlone() {
    return tellsAlone;
  }

  /** A row that tells alone: all of it has its version. */
  InternalRow of(InternalRow written, long newest) {
    setKey(written);
    for (int i = 0; i < values.length; i++) {
      row[valuePlaces[i]] = valueGetters.get(i).apply(written, values[i].position());
    }
    Arrays.fill(lags, 0L);
    info[version] = isOrderingValue(written, newest) ? null : (Object) newest;
    if (this.written >= 0) {
      info[this.written] = 0L;
    }
    if (deleted >= 0) {
      info[deleted] = null;
    }
    return asRow;
  }

  private void setKey(InternalRow keyRow) {
    for (int i = 0; i < key.length; i++) {
      row[keyPlaces[i]] = keyGetters.get(i).apply(keyRow, key[i].position());
    }
    if (bucketPlace >= 0) {
      row[bucketPlace] = keyRow.getInt(bucket);
    }
    if (groupPlace >= 0) {
      row[groupPlace] = keyRow.getInt(group);
    }
  }

  InternalRow of(RowFold fold) {
    setKey(fold.keyRow());
    long newest = fold.version();
    for (int i = 0; i < values.length; i++) {
      row[valuePlaces[i]] = fold.value(i);
      lags[values[i].leaf()] = fold.carries(i) ? (Object) (newest - fold.at(i)) : null;
      if (values[i].state() >= 0) {
        states[values[i].state()] = fold.state(i);
      }
    }
    InternalRow ofOrdering = ordering < 0 ? null : fold.winner(ordering);
    boolean isKnown = ofOrdering != null && isOrderingValue(ofOrdering, newest);
    info[version] = isKnown ? null : (Object) newest;
    if (written >= 0) {
      info[written] = fold.isWritten() ? (Object) (newest - fold.writtenAt()) : null;
    }
    if (deleted >= 0) {
      info[deleted] = fold.isDeleted() ? (Object) (newest - fold.deletedAt()) : null;
    }
    return asRow;
  }

  /** The rows that wait for what is gathered for columns to be reduced. */
  RowBuffer pending(RowFold fold, int[] columns, RowBuffer.Target target) {
    List<RowBuffer.Column> gathered =
        IntStream.of(columns)
            .mapToObj(
                i ->
                    new RowBuffer.Column(
                        Objects.requireNonNull(fold.gathered(i)),
                        valuePlaces[i],
                        values[i].state()))
            .toList();
    return new RowBuffer(
        gathered, new RowBuffer.Info(infoPlace, info.length, statesMember, states.length), target);
  }

  private static Map<String, Integer> places(StructType struct) {
    Map<String, Integer> places = new HashMap<>();
    for (NestedField field : struct.fields()) {
      places.put(field.name(), places.size());
    }
    return places;
  }

  /**
   * Says whether the stored ordering column says the version already, which is not stored twice
   * then.
   */
  private boolean isOrderingValue(InternalRow holder, long newest) {
    if (ordering < 0 || holder.isNullAt(values[ordering].position())) {
      return false;
    }
    Column column = values[ordering];
    return RowVersions.value(holder, column.position(), column.type()) == newest;
  }
}
