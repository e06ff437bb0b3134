package io.keylake.spark.reducers.builtin;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.types.LongType;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * A struct whose members are combined each by its own reducer. States lie in the order of the names
 * of the members, which no change of the schema changes.
 */
final class StructParts extends Accumulator {
  private final StructType type;
  private final boolean needsAll;
  private final List<Part> parts = new ArrayList<>();
  private final List<Integer> positions = new ArrayList<>();
  private boolean isShown;

  private StructParts(StructType type, Map<String, Part> members, boolean needsAll) {
    this.type = type;
    this.needsAll = needsAll;
    new TreeMap<>(members)
        .forEach(
            (name, part) -> {
              parts.add(part);
              positions.add(type.fieldIndex(name));
            });
  }

  /**
   * @param members the reducer of each member
   */
  static StructParts of(StructType type, Map<String, Reducer> members) {
    Map<String, Part> parts = new TreeMap<>();
    members.forEach(
        (name, reducer) -> parts.put(name, Part.of(reducer, type.apply(name).dataType())));
    return new StructParts(type, parts, false);
  }

  /** The parts of sums and of the numbers of their values: none makes sense without the others. */
  static StructParts ofSums(StructType type) {
    Map<String, Part> parts = new TreeMap<>();
    for (String name : type.fieldNames()) {
      Sum sum =
          name.equals("count")
              ? new ExactSum(new LongType(), true)
              : Accumulators.sum(type.apply(name).dataType());
      parts.put(name, new Part(type.apply(name).dataType(), sum, null));
    }
    return new StructParts(type, parts, true);
  }

  @Override
  protected void reset() {
    parts.forEach(part -> part.accumulator().clear());
  }

  @Override
  protected void add(SpecializedGetters row, int ordinal) {
    each(row, ordinal, Accumulator::contribute);
  }

  @Override
  protected void subtract(SpecializedGetters row, int ordinal) {
    each(row, ordinal, Accumulator::retract);
  }

  private void each(SpecializedGetters row, int ordinal, ContributionStep step) {
    InternalRow struct = row.getStruct(ordinal, type.length());
    for (int i = 0; i < parts.size(); i++) {
      int position = positions.get(i);
      if (!struct.isNullAt(position)) {
        step.take(parts.get(i).accumulator(), struct, position);
      } else if (needsAll) {
        throw new KeylakeException(
            BAD_ROWS,
            "the contribution has no '%s'; give all of %s, or null for no contribution"
                .formatted(type.fieldNames()[position], String.join(", ", type.fieldNames())));
      }
    }
  }

  @Override
  protected void merge(SpecializedGetters row, int ordinal, byte @Nullable [] state) {
    InternalRow struct = row.getStruct(ordinal, type.length());
    byte[][] states = Part.states(state, parts.size());
    for (int i = 0; i < parts.size(); i++) {
      int position = positions.get(i);
      if (states[i] != null || !struct.isNullAt(position)) {
        parts.get(i).accumulator().combine(struct, position, states[i]);
      }
    }
  }

  @Override
  public @Nullable Object value() {
    if (isEmpty()) {
      return null;
    }
    Object[] members = new Object[type.length()];
    isShown = true;
    for (int i = 0; i < parts.size(); i++) {
      members[positions.get(i)] = parts.get(i).value();
      isShown &= parts.get(i).isShown();
    }
    return new GenericInternalRow(members);
  }

  @Override
  public boolean isShown(@Nullable Object value) {
    return isShown;
  }

  @Override
  public byte @Nullable [] state() {
    return isEmpty() ? null : Part.states(parts);
  }
}
