package io.keylake.tables.planning;

import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import org.apache.iceberg.types.Comparators;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A bound of a file's keys, from the bounds of its columns apart. These hold for the compound key
 * as well: every key (a, b) with a &lt;= A and b &lt;= B is at or below (A, B).
 *
 * @param infinite -1 or 1 for a bound below or above every key, 0 otherwise
 */
public record KeyBound(List<Object> values, int infinite) {
  static final KeyBound LOWEST = new KeyBound(List.of(), -1);
  static final KeyBound HIGHEST = new KeyBound(List.of(), 1);

  /** The order of keys, as Spark has it: text and bytes by unsigned bytes, a uuid as its text. */
  public static Comparator<KeyBound> order(List<NestedField> key) {
    List<Comparator<Object>> columns = key.stream().map(field -> order(field.type())).toList();
    return (a, b) -> {
      if (a.infinite != 0 || b.infinite != 0) {
        return Integer.compare(a.infinite, b.infinite);
      }
      for (int i = 0; i < columns.size(); i++) {
        int order = columns.get(i).compare(a.values.get(i), b.values.get(i));
        if (order != 0) {
          return order;
        }
      }
      return 0;
    };
  }

  private static Comparator<Object> order(Type type) {
    if (type.typeId() == Type.TypeID.UUID) {
      return (a, b) -> unsigned((UUID) a, (UUID) b);
    }
    return Comparators.forType(type.asPrimitiveType());
  }

  private static int unsigned(UUID a, UUID b) {
    int high = Long.compareUnsigned(a.getMostSignificantBits(), b.getMostSignificantBits());
    return high != 0
        ? high
        : Long.compareUnsigned(a.getLeastSignificantBits(), b.getLeastSignificantBits());
  }
}
