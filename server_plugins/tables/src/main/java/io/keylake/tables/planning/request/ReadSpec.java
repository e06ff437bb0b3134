package io.keylake.tables.planning.request;

import io.keylake.merge.MergeRules;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The wish of a read: all that its plan depends on beside the table.
 *
 * @param scope the commits that are read, and the experiments beside them
 * @param filter on key columns only, chooses files: a filter on values could change which version
 *     of a row is the newest
 * @param valueFilter on merged rows, chooses sections; whoever reads applies it to the rows
 * @param values field ids of the wanted value columns
 * @param wanted which rows, and whether with their stamps
 * @param isOrdered whether the rows of a bucket have to come in key order
 */
public record ReadSpec(
    ReadScope scope,
    Expression filter,
    Expression valueFilter,
    Set<Integer> values,
    MergeRules.Wanted wanted,
    boolean isOrdered) {
  public ReadSpec {
    values = Set.copyOf(values);
  }

  /** All rows of a snapshot, in key order. */
  public static ReadSpec ofColumns(
      @Nullable Long snapshotId, Set<Integer> values, MergeRules.Wanted wanted) {
    return new ReadSpec(
        ReadScope.ofSnapshot(snapshotId),
        Expressions.alwaysTrue(),
        Expressions.alwaysTrue(),
        values,
        wanted,
        true);
  }

  /** All columns of all rows of a snapshot, in key order. */
  public static ReadSpec ofAllColumns(
      KeyedSchema schema, @Nullable Long snapshotId, MergeRules.Wanted wanted) {
    return ofColumns(
        snapshotId,
        schema.values().stream().map(NestedField::fieldId).collect(Collectors.toSet()),
        wanted);
  }

  /** The same rows and columns of other commits. */
  public ReadSpec in(ReadScope other) {
    return new ReadSpec(other, filter, valueFilter, values, wanted, isOrdered);
  }

  /** Only rows that a filter on key columns selects. */
  public ReadSpec where(Expression keyFilter) {
    return new ReadSpec(scope, keyFilter, valueFilter, values, wanted, isOrdered);
  }

  /** The same rows in any order. */
  public ReadSpec unordered() {
    return new ReadSpec(scope, filter, valueFilter, values, wanted, false);
  }

  /** The snapshot that is read, or the last one of the range. */
  public @Nullable Long snapshotId() {
    return scope.snapshotId();
  }

  public boolean stamps() {
    return wanted.hasStamps();
  }
}
