package io.keylake.spark.explain;

import io.keylake.spark.engine.RowJson;
import io.keylake.spark.engine.RowType;
import io.keylake.spark.keys.LookupKey;
import io.keylake.spark.read.merge.KeyVersions;
import io.keylake.spark.read.merge.StoredVersion;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.table.KeyedTable;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.metadata.FileOrigins;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * The row of a key, explained as a table: a line for its newest write and for its newest delete,
 * and for each column the value with its origin, then the contributions to an accumulator, then the
 * stored values that do not count, newest first. A key that no file has gives no line.
 */
public final class ExplainedRow {
  /** Lines of one kind that a column has at most. */
  private static final int MOST_LINES = 20;

  private static final String VALUE = "value";

  private final KeyedSchema schema;
  private final RowHistory history;
  private final List<String> types;
  private final StructType typed;
  private final List<LineRow> lines = new ArrayList<>();

  private ExplainedRow(KeyedSchema schema, RowHistory history, StructType typed) {
    this.schema = schema;
    this.history = history;
    this.typed = typed;
    this.types = List.of(typed.fieldNames());
  }

  /** Lines, and what they have in common. */
  public record Lines(StructType type, List<InternalRow> rows) {}

  /**
   * Looks at the files of a key.
   *
   * @param said the names and types of the values of the key
   */
  public static Lines of(KeyedTable table, StructType said, InternalRow values) {
    KeyedSchema schema = table.keyed();
    LookupKey key = KeyValues.of(schema, table.name(), said, values);
    RowHistory history = RowHistory.of(table, key);
    ExplainedRow row = new ExplainedRow(schema, history, typed(history.task().output()));
    row.explain();
    RowType<LineRow> type = RowType.with(LineRow.class, Map.of("typed_value", row.typed));
    return new Lines(type.type(), type.rows(row.lines.stream()));
  }

  /**
   * A line of the answer.
   *
   * @param column null for a line about the row as a whole
   * @param typedValue a struct that has a member for each type of the columns
   */
  private record LineRow(
      @Nullable String column,
      String part,
      @Nullable String why,
      @Nullable String value,
      @Nullable Long version,
      @Nullable OriginRow origin,
      @Nullable String reducer,
      @Nullable Long contributions,
      @Nullable InternalRow typedValue) {}

  /** The file and the commit that a value comes from. */
  private record OriginRow(
      @Nullable Long snapshotId,
      @Nullable Instant committedAt,
      @Nullable String stream,
      long commitOrder,
      String file,
      boolean isMerged,
      @Nullable Long filesMerged) {}

  /** A member for each type that columns have: one result has values of all of them. */
  private static StructType typed(List<OutputColumn> columns) {
    StructType types = new StructType();
    for (OutputColumn column : columns) {
      String name = column.type().catalogString();
      if (types.getFieldIndex(name).isEmpty()) {
        types = types.add(name, column.type());
      }
    }
    return types;
  }

  private void explain() {
    KeyVersions versions = history.versions();
    if (versions.rows().isEmpty()) {
      return;
    }
    StoredVersion write = newest(versions.rows(), StoredVersion::written);
    if (write != null) {
      String why = versions.isVisible() ? null : Loss.DELETED.word();
      lines.add(event("write", why, write, write.written()));
    }
    StoredVersion delete = tombstone();
    if (delete != null) {
      lines.add(event("delete", null, delete, delete.deleted()));
    }
    List<OutputColumn> output = history.task().output();
    for (int i = 0; i < output.size(); i++) {
      if (output.get(i).source() == OutputColumn.Source.VALUE) {
        explain(i, output.get(i).fieldId());
      }
    }
  }

  private interface Stamp {
    @Nullable Long of(StoredVersion row);
  }

  private static @Nullable StoredVersion newest(List<StoredVersion> rows, Stamp stamp) {
    return rows.stream()
        .filter(row -> stamp.of(row) != null)
        .max(Comparator.comparing(stamp::of).thenComparing(StoredVersion::order))
        .orElse(null);
  }

  private @Nullable StoredVersion tombstone() {
    return newest(history.versions().rows(), StoredVersion::deleted);
  }

  private void explain(int position, int fieldId) {
    String column = history.task().output().get(position).name(schema);
    Reducer reducer = schema.spec().reducer(column);
    Comparator<StoredVersion> newestFirst =
        Comparator.comparingLong((StoredVersion row) -> row.version(fieldId))
            .thenComparing(StoredVersion::order)
            .reversed();
    KeyVersions versions = history.versions();
    List<StoredVersion> counted =
        versions.counted().getOrDefault(fieldId, List.of()).stream().sorted(newestFirst).toList();
    StoredVersion newest = counted.isEmpty() ? null : counted.get(0);
    Line line = new Line(column, position, reducer);
    lines.add(
        line.of(
            VALUE,
            whyNone(fieldId, newest),
            versions.merged(),
            newest,
            newest == null ? null : Long.valueOf(newest.version(fieldId)),
            reducer.accumulates() ? Long.valueOf(counted.size()) : null));
    if (reducer.accumulates()) {
      counted.stream()
          .limit(MOST_LINES)
          .forEach(row -> lines.add(line.of("contribution", null, row, fieldId)));
    }
    // By their places: a hash of stored rows would look at all columns for each of them.
    Set<Integer> counts =
        counted.stream().map(StoredVersion::order).collect(Collectors.toUnmodifiableSet());
    versions.rows().stream()
        .filter(row -> row.carries(fieldId) && !counts.contains(row.order()))
        .sorted(newestFirst)
        .limit(MOST_LINES)
        .forEach(
            row -> {
              Loss why = loss(row, fieldId, newest, reducer);
              lines.add(line.of("lost", why.word(), row, fieldId));
            });
  }

  /** The reason why there is no value although something counts; null where nothing is missing. */
  private @Nullable String whyNone(int fieldId, @Nullable StoredVersion newest) {
    if (newest != null && !history.versions().isVisible()) {
      return "waits for a newer write";
    }
    return history.versions().withoutPlace().contains(fieldId) ? "does not fit its type" : null;
  }

  /** The reason why a stored value does not count. */
  private enum Loss {
    DELETED,
    OLDER_VERSION,
    EARLIER_COMMIT,
    /**
     * The value lost to an earlier one, of an accumulator that keeps the value of the earliest
     * version.
     */
    LATER_VERSION,
    LATER_COMMIT;

    String word() {
      return name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }
  }

  private Loss loss(
      StoredVersion row, int fieldId, @Nullable StoredVersion newest, Reducer reducer) {
    long version = row.version(fieldId);
    StoredVersion reset = history.versions().reset();
    if (reducer.accumulates()) {
      boolean isBefore = reset != null && row.order() < reset.order();
      if (isBefore || newest == null) {
        return Loss.DELETED;
      }
      return version > newest.version(fieldId) ? Loss.LATER_VERSION : Loss.LATER_COMMIT;
    }
    StoredVersion delete = tombstone();
    Long deleted = delete == null ? null : delete.deleted();
    boolean isDeleted =
        delete != null
            && deleted != null
            && (version < deleted || (version == deleted && row.order() < delete.order()));
    if (isDeleted || newest == null) {
      return Loss.DELETED;
    }
    return version < newest.version(fieldId) ? Loss.OLDER_VERSION : Loss.EARLIER_COMMIT;
  }

  /** A line about the row as a whole. */
  private LineRow event(
      String part, @Nullable String why, StoredVersion row, @Nullable Long version) {
    return new LineRow(null, part, why, null, version, origin(row), null, null, null);
  }

  private OriginRow origin(StoredVersion row) {
    Map<String, FileOrigins.Origin> origins = history.origins();
    FileOrigins.Origin of = Objects.requireNonNull(origins.get(row.location()), "a planned file");
    return new OriginRow(
        of.snapshotId(),
        of.committedAtMicros() == null ? null : PointInTime.ofMicros(of.committedAtMicros()),
        of.stream(),
        of.commitOrder(),
        row.location(),
        of.isMerged(),
        of.filesMerged());
  }

  /** Lines about one column. */
  private final class Line {
    private final String column;
    private final int position;
    private final DataType type;
    private final Reducer reducer;
    private final RowJson json;

    Line(String column, int position, Reducer reducer) {
      this.column = column;
      this.position = position;
      this.type = history.task().output().get(position).type();
      this.reducer = reducer;
      this.json = new RowJson(new StructType().add(VALUE, type));
    }

    LineRow of(String part, @Nullable String why, StoredVersion row, int fieldId) {
      return of(part, why, row.values(), row, row.version(fieldId), null);
    }

    LineRow of(
        String part,
        @Nullable String why,
        @Nullable InternalRow values,
        @Nullable StoredVersion row,
        @Nullable Long version,
        @Nullable Long contributions) {
      Object value =
          values == null || values.isNullAt(position) ? null : values.get(position, type);
      return new LineRow(
          column,
          part,
          why,
          text(value),
          version,
          row == null ? null : origin(row),
          reducer.text(),
          contributions,
          typed(value));
    }

    private InternalRow typed(@Nullable Object value) {
      Object[] members = new Object[types.size()];
      members[types.indexOf(type.catalogString())] = value;
      return new GenericInternalRow(members);
    }

    /** The value as JSON, without the object around it. */
    private @Nullable String text(@Nullable Object value) {
      if (value == null) {
        return null;
      }
      byte[] object = json.of(new GenericInternalRow(new Object[] {value}));
      String said = new String(object, StandardCharsets.UTF_8);
      return said.substring(said.indexOf(':') + 1, said.length() - 1);
    }
  }
}
