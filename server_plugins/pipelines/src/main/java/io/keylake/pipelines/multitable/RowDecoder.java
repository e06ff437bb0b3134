package io.keylake.pipelines.multitable;

import static io.keylake.tables.KeylakeException.Kind.BAD_ROWS;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.JsonToken;
import com.fasterxml.jackson.core.StreamReadConstraints;
import io.keylake.spark.keys.BucketExpression;
import io.keylake.spark.keys.GroupExpression;
import io.keylake.spark.keys.KeyBytes;
import io.keylake.spark.write.TableWrite;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.IntStream;
import org.apache.iceberg.types.Types;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeArrayData;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.types.UTF8String;
import org.jspecify.annotations.Nullable;

/**
 * Makes rows of one table of JSON objects:
 *
 * <ol>
 *   <li>Fields are matched with columns, whatever their case; a value that its column cannot hold
 *       as it is, and a field without a column, are refused.
 *   <li>Columns without a field are not in the list of those that the row carries.
 *   <li>The bucket is computed, and where the row belongs in the order of the table's files.
 * </ol>
 *
 * <p>Nothing here is compiled for a table: there are thousands of them, with few rows each.
 */
final class RowDecoder {
  private static final JsonFactory JSON =
      JsonFactory.builder()
          .streamReadConstraints(
              StreamReadConstraints.builder().maxStringLength(Integer.MAX_VALUE).build())
          .build();
  private static final UTF8String DELETE = UTF8String.fromString("d");
  private static final ArrayType NAMES = DataTypes.createArrayType(DataTypes.StringType, false);

  private final List<NestedField> columns = new ArrayList<>(); // the key, then the values
  private final Map<String, Integer> places = new HashMap<>();
  private final UTF8String[] names;
  private final int keys;
  private final Object[] values;
  private final GenericInternalRow row;
  private final boolean[] isThere;
  private final boolean[] wasThere;
  private final @Nullable String[] fields; // of the last rows, in their order
  private final int[] fieldPlaces;
  private final Function<Object, UnsafeRow> packedNames = PackedRows.alone(NAMES);
  private final UnsafeArrayData none = inSparksForm(new Object[0]);
  private UnsafeArrayData lastCarried = none;
  private final Expression bucketOf;
  private final @Nullable Expression groupOf;
  private final int bucket;
  private final PackedRows packed;
  private final KeyBytes keyBytes;
  private final List<Integer> placed;

  RowDecoder(KeyedSchema schema) {
    columns.addAll(schema.key());
    columns.addAll(schema.values());
    keys = schema.key().size();
    for (int i = 0; i < columns.size(); i++) {
      places.put(columns.get(i).name().toLowerCase(Locale.ROOT), i);
    }
    names =
        columns.stream()
            .map(field -> UTF8String.fromString(field.name()))
            .toArray(UTF8String[]::new);
    isThere = new boolean[columns.size()];
    wasThere = new boolean[columns.size()];
    fields = new String[columns.size()];
    fieldPlaces = new int[columns.size()];
    StructType type = TableWrite.rowType(schema);
    values = new Object[type.size()];
    row = new GenericInternalRow(values);
    List<Expression> all =
        IntStream.range(0, type.size())
            .<Expression>mapToObj(i -> new BoundReference(i, type.fields()[i].dataType(), true))
            .toList();
    packed = new PackedRows(type);
    List<Expression> bucketBy =
        schema.bucketBy().stream().map(field -> all.get(columns.indexOf(field))).toList();
    bucketOf = BucketExpression.of(schema, bucketBy);
    groupOf = schema.hasGroups() ? GroupExpression.group(schema, bucketBy) : null;
    bucket = columns.size();
    List<NestedField> order = new ArrayList<>();
    placed = new ArrayList<>();
    for (String name : schema.spec().partitionBy()) {
      NestedField field = schema.table().findField(name);
      order.add(field);
      placed.add(columns.indexOf(field));
    }
    order.add(Types.NestedField.required(0, KeyedSchema.BUCKET, Types.IntegerType.get()));
    placed.add(bucket);
    for (NestedField field : schema.sortKey()) {
      order.add(field);
      placed.add(field.name().equals(KeyedSchema.GROUP) ? bucket + 1 : columns.indexOf(field));
    }
    keyBytes = new KeyBytes(order);
  }

  /** Takes the next row; what it comes to is valid until the one after it. */
  void read(byte[] json, UTF8String op, long version) {
    Arrays.fill(values, null);
    Arrays.fill(isThere, false);
    boolean isDelete = op.equals(DELETE);
    try (JsonParser parser = JSON.createParser(json)) {
      readFields(parser, isDelete);
    } catch (JsonProcessingException e) {
      throw new KeylakeException(
          BAD_ROWS, "the row is not a JSON object: %s".formatted(e.getOriginalMessage()));
    } catch (IOException e) {
      throw new IllegalStateException(e); // of bytes in memory
    }
    for (int i = 0; i < keys; i++) {
      if (values[i] == null) {
        throw new KeylakeException(
            BAD_ROWS,
            "the key column '%s' is %s; every row needs its whole key"
                .formatted(columns.get(i).name(), isThere[i] ? "null" : "not in the row"));
      }
    }
    Object bucketNumber = bucketOf.eval(row);
    values[bucket] = bucketNumber;
    int next = bucket + 1;
    if (groupOf != null) {
      values[next++] = groupOf.eval(row);
    }
    values[next++] = version;
    values[next++] = op;
    values[next] = isDelete ? none : carried();
  }

  private void readFields(JsonParser parser, boolean isDelete) throws IOException {
    if (parser.nextToken() != JsonToken.START_OBJECT) {
      throw new KeylakeException(BAD_ROWS, "the row is not a JSON object");
    }
    int number = 0;
    while (parser.nextToken() != JsonToken.END_OBJECT) {
      String name = parser.currentName();
      int place = place(name, number++);
      if (place < 0) {
        if (parser.nextToken() == JsonToken.VALUE_NULL) {
          continue; // a column that is not there has no value to lose
        }
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "the row has a field '%s', and the table has no such column; its columns are %s"
                .formatted(name, columns.stream().map(NestedField::name).toList()));
      }
      if (isThere[place]) {
        throw new KeylakeException(
            SCHEMA_MISMATCH, "the row has the column '%s' twice".formatted(name));
      }
      isThere[place] = true;
      parser.nextToken();
      if (isDelete && place >= keys) {
        parser.skipChildren(); // what the row was before does not matter
      } else {
        NestedField field = columns.get(place);
        values[place] = JsonValues.value(parser, field.type(), field.name());
      }
    }
    if (parser.nextToken() != null) {
      throw new KeylakeException(BAD_ROWS, "the row goes on behind the JSON object");
    }
  }

  /** The column of a field, which has mostly the number that it had in the row before; -1: none. */
  private int place(String name, int number) {
    boolean isKnown = number < fields.length;
    if (isKnown && name.equals(fields[number])) {
      return fieldPlaces[number];
    }
    int place = places.getOrDefault(name.toLowerCase(Locale.ROOT), -1);
    if (isKnown && place >= 0) {
      fields[number] = name;
      fieldPlaces[number] = place;
    }
    return place;
  }

  /** Rows that follow each other carry the same columns, mostly: their names are packed once. */
  private UnsafeArrayData carried() {
    if (!Arrays.equals(isThere, wasThere)) {
      System.arraycopy(isThere, 0, wasThere, 0, isThere.length);
      lastCarried =
          inSparksForm(
              IntStream.range(keys, columns.size())
                  .filter(i -> isThere[i])
                  .<Object>mapToObj(i -> names[i])
                  .toArray());
    }
    return lastCarried;
  }

  private UnsafeArrayData inSparksForm(Object[] texts) {
    return packedNames.apply(new GenericArrayData(texts)).getArray(0).copy();
  }

  int bucket() {
    return (Integer) values[bucket];
  }

  /** The row in Spark's binary form; valid until the next. */
  UnsafeRow packed() {
    return packed.of(values);
  }

  /** The place of the row in the order of the files: partition, bucket and key. */
  byte[] place() {
    Object[] ordered = new Object[placed.size()];
    for (int i = 0; i < ordered.length; i++) {
      ordered[i] = values[placed.get(i)];
    }
    InternalRow inOrder = new GenericInternalRow(ordered);
    return keyBytes.of(inOrder);
  }
}
