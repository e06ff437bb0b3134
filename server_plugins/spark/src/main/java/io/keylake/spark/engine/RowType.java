package io.keylake.spark.engine;

import io.keylake.tables.GuestApi;
import io.keylake.tables.history.PointInTime;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.RecordComponent;
import java.lang.reflect.Type;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * The columns of a result, described by a record: a column for each component, in order. {@code
 * long minVersion} is the column {@code min_version BIGINT}, an {@link Instant} is a timestamp, a
 * list is an array. A component that is a record stands for its own columns, which are null without
 * it; one that is a row of Spark is a struct, whose type its table decides.
 */
@GuestApi
public final class RowType<R extends Record> {
  private static final Map<Type, DataType> TYPES =
      Map.of(
          String.class, DataTypes.StringType,
          Long.class, DataTypes.LongType,
          long.class, DataTypes.LongType,
          Integer.class, DataTypes.IntegerType,
          int.class, DataTypes.IntegerType,
          Boolean.class, DataTypes.BooleanType,
          boolean.class, DataTypes.BooleanType,
          Double.class, DataTypes.DoubleType,
          double.class, DataTypes.DoubleType,
          Instant.class, DataTypes.TimestampType);

  /** Each session has its own catalogs, and their procedures have the same columns in all. */
  private static final ClassValue<RowType<?>> OF_RECORDS =
      new ClassValue<>() {
        @Override
        protected RowType<?> computeValue(Class<?> rows) {
          return new RowType<>(rows.asSubclass(Record.class), Map.of(), Set.of());
        }
      };

  private final List<Column> columns = new ArrayList<>();
  private final StructType type;

  /**
   * A column of the result.
   *
   * @param path the components that lead to its value
   */
  private record Column(StructField field, List<RecordComponent> path) {
    @Nullable Object value(Record of) {
      Object value = of;
      for (RecordComponent component : path) {
        value = value == null ? null : RowType.value(component, value);
      }
      return internal(value);
    }
  }

  private RowType(Class<R> rows, Map<String, StructType> structs, Set<String> notNull) {
    add(List.of(), rows, structs, notNull);
    this.type = new StructType(columns.stream().map(Column::field).toArray(StructField[]::new));
  }

  /** Columns that may be null, all of them. */
  @SuppressWarnings("unchecked") // it was made of this class
  public static <R extends Record> RowType<R> of(Class<R> rows) {
    return (RowType<R>) OF_RECORDS.get(rows);
  }

  /**
   * @param notNull the columns that are declared so
   */
  public static <R extends Record> RowType<R> notNull(Class<R> rows, String... notNull) {
    return new RowType<>(rows, Map.of(), Set.of(notNull));
  }

  /**
   * @param structs the types of the columns that are structs; one without a type is left out
   */
  public static <R extends Record> RowType<R> with(Class<R> rows, Map<String, StructType> structs) {
    return new RowType<>(rows, structs, Set.of());
  }

  private void add(
      List<RecordComponent> path,
      Class<?> rows,
      Map<String, StructType> structs,
      Set<String> notNull) {
    for (RecordComponent component : rows.getRecordComponents()) {
      component.getAccessor().setAccessible(true); // records of one class of procedures are private
      List<RecordComponent> to = new ArrayList<>(path);
      to.add(component);
      String name = name(component);
      if (component.getType().isRecord()) {
        add(to, component.getType(), structs, notNull);
      } else if (component.getType() != InternalRow.class || structs.containsKey(name)) {
        DataType type = structs.get(name);
        columns.add(
            new Column(
                new StructField(
                    name,
                    type == null ? type(component.getGenericType()) : type,
                    !notNull.contains(name),
                    Metadata.empty()),
                to));
      }
    }
  }

  private static String name(RecordComponent component) {
    StringBuilder name = new StringBuilder();
    for (char letter : component.getName().toCharArray()) {
      if (Character.isUpperCase(letter)) {
        name.append('_');
      }
      name.append(Character.toLowerCase(letter));
    }
    return name.toString();
  }

  private static DataType type(Type of) {
    if (of instanceof ParameterizedType list && list.getRawType() == List.class) {
      return DataTypes.createArrayType(type(list.getActualTypeArguments()[0]));
    }
    DataType known = TYPES.get(of);
    if (known == null) {
      throw new IllegalArgumentException("no column of a result has the type " + of.getTypeName());
    }
    return known;
  }

  public StructType type() {
    return type;
  }

  public InternalRow row(R of) {
    return new GenericInternalRow(columns.stream().map(column -> column.value(of)).toArray());
  }

  public List<InternalRow> rows(Stream<R> all) {
    return all.map(this::row).toList();
  }

  private static @Nullable Object value(RecordComponent component, Object of) {
    try {
      return component.getAccessor().invoke(of);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e); // an accessor only returns its component
    }
  }

  private static @Nullable Object internal(@Nullable Object value) {
    if (value instanceof Collection<?> list) {
      List<@Nullable Object> values = new ArrayList<>();
      list.forEach(each -> values.add(internal(each)));
      return new GenericArrayData(values.toArray());
    }
    if (value instanceof Instant moment) {
      return PointInTime.micros(moment);
    }
    return value instanceof String text ? UTF8String.fromString(text) : value;
  }
}
