package io.keylake.tables.spec;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Type.TypeID;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/** The types that reducers take. */
final class ReducedType {
  private static final String NUMBER = "int, long, float, double or decimal";
  private static final String MAP =
      "a map whose keys are numbers, booleans, dates, timestamps, strings or binary";

  private ReducedType() {}

  /** The type that a column lacks to have a reducer; null where the type fits. */
  static @Nullable String missing(Reducer reducer, Type type) {
    return switch (reducer.kind()) {
      case LATEST, LATEST_NOT_NULL, FIRST, OWN, PYTHON -> null; // a class says itself what it takes
      case SUM -> isNumber(type) ? null : NUMBER;
      case MIN, MAX ->
          isOrdered(type) ? null : "a number, boolean, date, timestamp, string or binary";
      case COUNT -> type.typeId() == TypeID.LONG ? null : "long";
      case BOOL_AND, BOOL_OR -> type.typeId() == TypeID.BOOLEAN ? null : "boolean";
      case COLLECT -> ofCollect(reducer, type);
      case ARRAY_SUM ->
          type.isListType() && isNumber(type.asListType().elementType())
              ? null
              : "a list whose elements are " + NUMBER;
      case MAP_MERGE -> ofMap(reducer, type);
      case BITMAP_OR, HLL, THETA, KLL -> type.typeId() == TypeID.BINARY ? null : "binary";
      case DAILY ->
          names(type).equals(List.of("day", "values"))
                  && member(type, "day").typeId() == TypeID.DATE
                  && member(type, "values").isListType()
                  && isNumber(member(type, "values").asListType().elementType())
              ? null
              : "a struct of a date 'day' and a list 'values' of " + NUMBER;
      case TOP_N -> ofTop(reducer, type);
      case LATEST_N -> type.isListType() ? null : "a list";
      case AVERAGE ->
          hasMembers(type, "sum", "count")
                  && isNumber(member(type, "sum"))
                  && member(type, "count").typeId() == TypeID.LONG
              ? null
              : "a struct of 'sum', which is %s, and a long 'count'".formatted(NUMBER);
      case MOMENTS ->
          isMoments(type)
              ? null
              : "a struct of the doubles 'sum', 'sum2', 'sum3', 'sum4' and a long 'count'";
      case STRUCT -> ofStruct(reducer, type);
    };
  }

  private static @Nullable String ofCollect(Reducer reducer, Type type) {
    if (!type.isListType()) {
      return "a list";
    }
    return reducer.distinct() && hasMap(type.asListType().elementType())
        ? "a list whose elements have no map in them, since maps cannot be compared"
        : null;
  }

  private static @Nullable String ofMap(Reducer reducer, Type type) {
    if (!type.isMapType() || !isOrdered(type.asMapType().keyType())) {
      return MAP;
    }
    Reducer of = reducer.of();
    String missing = of == null ? null : missing(of, type.asMapType().valueType());
    return missing == null ? null : MAP + ", and whose values are each " + missing;
  }

  private static @Nullable String ofTop(Reducer reducer, Type type) {
    String by = reducer.word("by");
    boolean fits =
        type.isListType()
            && type.asListType().elementType().isStructType()
            && member(type.asListType().elementType(), by) != null
            && isOrdered(member(type.asListType().elementType(), by));
    return fits
        ? null
        : "a list of structs with a member '%s' that is a number, boolean, date, timestamp, string or binary"
            .formatted(by);
  }

  private static @Nullable String ofStruct(Reducer reducer, Type type) {
    Map<String, Reducer> members = reducer.members();
    boolean fits =
        type.isStructType()
            && hasMembers(type, members.keySet().toArray(String[]::new))
            && members.entrySet().stream()
                .allMatch(each -> missing(each.getValue(), member(type, each.getKey())) == null);
    if (fits) {
      return null;
    }
    List<String> wanted = new ArrayList<>();
    members.forEach(
        (name, of) -> {
          Type found = type.isStructType() ? member(type, name) : null;
          String missing = found == null ? null : missing(of, found);
          wanted.add("'" + name + "'" + (missing == null ? "" : ", which is " + missing));
        });
    return "a struct of exactly the members " + String.join(", and ", wanted);
  }

  private static boolean isMoments(Type type) {
    return hasMembers(type, "count", "sum", "sum2", "sum3", "sum4")
        && type.asStructType().fields().stream()
            .allMatch(
                field ->
                    field.type().typeId()
                        == (field.name().equals("count") ? TypeID.LONG : TypeID.DOUBLE));
  }

  /** A struct has these members and no others, in any order. */
  private static boolean hasMembers(Type type, String... names) {
    return names(type).stream().sorted().toList().equals(Arrays.stream(names).sorted().toList());
  }

  private static List<String> names(Type type) {
    return type.isStructType()
        ? type.asStructType().fields().stream().map(NestedField::name).toList()
        : List.of();
  }

  private static Type member(Type type, String name) {
    return type.asStructType().fieldType(name);
  }

  private static boolean hasMap(Type type) {
    return type.isMapType()
        || (type.isNestedType()
            && type.asNestedType().fields().stream().anyMatch(field -> hasMap(field.type())));
  }

  private static boolean isNumber(Type type) {
    return switch (type.typeId()) {
      case INTEGER, LONG, FLOAT, DOUBLE, DECIMAL -> true;
      default -> false;
    };
  }

  private static boolean isOrdered(Type type) {
    return switch (type.typeId()) {
      case BOOLEAN, DATE, TIMESTAMP, STRING, BINARY -> true;
      default -> isNumber(type);
    };
  }
}
