package io.keylake.spark.vectors;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.merge.Decisions;
import io.keylake.merge.RandomRuns;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.SpecializedGetters;
import org.apache.spark.sql.catalyst.util.ArrayBasedMapData;
import org.apache.spark.sql.catalyst.util.ArrayData;
import org.apache.spark.sql.catalyst.util.GenericArrayData;
import org.apache.spark.sql.catalyst.util.MapData;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Decimal;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.sql.vectorized.ColumnVector;
import org.apache.spark.sql.vectorized.ColumnarBatch;
import org.apache.spark.unsafe.types.UTF8String;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Vectors over other vectors, beside a list of the values: random values of random types, nested or
 * not, are built, shown with uuids as text, and looked up or gathered at random places of some
 * runs.
 */
@Tag("random")
class VectorsRandomTest {
  private static final int MOST_ROWS = 40;
  private static final DataType DECIMAL = DataTypes.createDecimalType(20, 3);
  private static final List<DataType> FLAT =
      List.of(
          DataTypes.LongType,
          DataTypes.IntegerType,
          DataTypes.DoubleType,
          DataTypes.FloatType,
          DataTypes.BooleanType,
          DataTypes.DateType,
          DataTypes.TimestampType,
          DataTypes.TimestampNTZType,
          DataTypes.StringType,
          DataTypes.BinaryType,
          DECIMAL);

  /** A type as it is stored, and as it is shown: a uuid is bytes, then text. */
  private record Shape(DataType stored, DataType shown, List<Shape> members) {
    static Shape flat(DataType type) {
      return new Shape(type, type, List.of());
    }

    static Shape random(Random random, int depth) {
      int kind = random.nextInt(depth == 0 ? FLAT.size() + 1 : FLAT.size() + 4) - FLAT.size();
      if (kind < 0) {
        return flat(FLAT.get(kind + FLAT.size()));
      }
      if (kind == 0) {
        return new Shape(DataTypes.BinaryType, DataTypes.StringType, List.of());
      }
      if (kind == 1) {
        Shape of = random(random, depth - 1);
        return new Shape(
            DataTypes.createArrayType(of.stored), DataTypes.createArrayType(of.shown), List.of(of));
      }
      if (kind == 2) {
        Shape key = random(random, 0);
        Shape value = random(random, depth - 1);
        return new Shape(
            DataTypes.createMapType(key.stored, value.stored),
            DataTypes.createMapType(key.shown, value.shown),
            List.of(key, value));
      }
      List<Shape> members = new ArrayList<>();
      StructType stored = new StructType();
      StructType shown = new StructType();
      for (int i = random.nextInt(3); i >= 0; i--) {
        Shape of = random(random, depth - 1);
        stored = stored.add("m" + i, of.stored);
        shown = shown.add("m" + i, of.shown);
        members.add(of);
      }
      return new Shape(stored, shown, members);
    }

    boolean isUuid() {
      return !stored.equals(shown) && members.isEmpty();
    }

    /** A value as Catalyst stores it, or null. */
    Object value(Random random, boolean mayBeNull) {
      if (mayBeNull && random.nextInt(4) == 0) {
        return null;
      }
      if (isUuid()) {
        byte[] bytes = new byte[16];
        random.nextBytes(bytes);
        return bytes;
      }
      if (stored instanceof ArrayType) {
        return list(random, members.get(0), random.nextInt(4), true);
      }
      if (stored instanceof MapType) {
        int size = random.nextInt(4);
        return new ArrayBasedMapData(
            list(random, members.get(0), size, false), list(random, members.get(1), size, true));
      }
      if (stored instanceof StructType) {
        return new GenericInternalRow(
            members.stream().map(member -> member.value(random, true)).toArray());
      }
      return VectorsRandomTest.value(stored, random);
    }

    private static ArrayData list(Random random, Shape of, int size, boolean mayBeNull) {
      Object[] elements = new Object[size];
      Arrays.setAll(elements, i -> of.value(random, mayBeNull));
      return new GenericArrayData(elements);
    }

    /** What a stored value reads as, in lists and texts that can be compared. */
    Object plain(SpecializedGetters from, int at, boolean isShown) {
      if (from.isNullAt(at)) {
        return null;
      }
      if (isUuid()) {
        return isShown ? from.getUTF8String(at).toString() : uuid(from.getBinary(at));
      }
      if (stored instanceof ArrayType) {
        return elements(from.getArray(at), members.get(0), isShown);
      }
      if (stored instanceof MapType) {
        MapData map = from.getMap(at);
        return List.of(
            elements(map.keyArray(), members.get(0), isShown),
            elements(map.valueArray(), members.get(1), isShown));
      }
      if (stored instanceof StructType) {
        InternalRow row = from.getStruct(at, members.size());
        List<Object> values = new ArrayList<>();
        for (int i = 0; i < members.size(); i++) {
          values.add(members.get(i).plain(row, i, isShown));
        }
        return values;
      }
      Object value = from.get(at, stored);
      return value instanceof byte[] bytes ? Arrays.toString(bytes) : value;
    }

    private static List<Object> elements(ArrayData list, Shape of, boolean isShown) {
      List<Object> values = new ArrayList<>();
      for (int i = 0; i < list.numElements(); i++) {
        values.add(of.plain(list, i, isShown));
      }
      return values;
    }
  }

  private static String uuid(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new UUID(buffer.getLong(), buffer.getLong()).toString();
  }

  private static Object value(DataType type, Random random) {
    if (type.equals(DataTypes.IntegerType) || type.equals(DataTypes.DateType)) {
      return random.nextInt();
    }
    if (type.equals(DataTypes.DoubleType)) {
      return random.nextInt(9) == 0 ? Double.NaN : random.nextGaussian();
    }
    if (type.equals(DataTypes.FloatType)) {
      return random.nextInt(9) == 0 ? -0f : random.nextFloat();
    }
    if (type.equals(DataTypes.BooleanType)) {
      return random.nextBoolean();
    }
    if (type.equals(DataTypes.StringType)) {
      return UTF8String.fromString("\u00e9x".repeat(random.nextInt(40)) + random.nextInt(100));
    }
    if (type.equals(DataTypes.BinaryType)) {
      byte[] bytes = new byte[random.nextInt(9)];
      random.nextBytes(bytes);
      return bytes;
    }
    return type.equals(DECIMAL)
        ? Decimal.apply(BigDecimal.valueOf(random.nextLong() >> 8, 3), 20, 3)
        : (Object) random.nextLong();
  }

  /** The values of a column in some runs; no values in runs that do not carry it. */
  private record Runs(Shape shape, List<List<Object>> values, ColumnVector[] sources) {
    static Runs random(Random random, Shape shape, boolean hasPages) {
      List<List<Object>> values = new ArrayList<>();
      ColumnVector[] sources = new ColumnVector[1 + random.nextInt(4)];
      boolean mayBeNull = random.nextBoolean();
      for (int run = 0; run < sources.length; run++) {
        List<Object> ofRun = new ArrayList<>();
        for (int i = random.nextInt(MOST_ROWS); i >= 0; i--) {
          ofRun.add(shape.value(random, mayBeNull));
        }
        values.add(ofRun);
        if (run == 0 || random.nextInt(4) > 0) {
          sources[run] =
              hasPages ? pages(shape.stored, ofRun, random) : built(shape, ofRun, random);
        }
      }
      return new Runs(shape, values, sources);
    }

    int[] places(Random random, int count) {
      boolean isAnywhere = random.nextBoolean();
      int[] places = new int[count];
      for (int i = 0; i < count; i++) {
        int run = random.nextInt(sources.length);
        boolean isNowhere = sources[run] == null || (isAnywhere && random.nextInt(5) == 0);
        places[i] =
            isNowhere
                ? Decisions.NOWHERE
                : Decisions.place(run, random.nextInt(values.get(run).size()));
      }
      return places;
    }

    List<Object> at(int[] places, int count) {
      List<Object> found = new ArrayList<>();
      for (int i = 0; i < count; i++) {
        found.add(
            places[i] == Decisions.NOWHERE
                ? null
                : values.get(Decisions.run(places[i])).get(Decisions.row(places[i])));
      }
      return found;
    }
  }

  /** A vector that was used before. */
  private static BuiltVector built(Shape shape, List<Object> values, Random random) {
    BuiltVector vector = new BuiltVector(shape.stored);
    for (int i = random.nextInt(3); i > 0; i--) {
      vector.add(shape.value(random, true));
    }
    vector.clear();
    values.forEach(vector::add);
    return vector;
  }

  /** Texts in some pages of a file: the length of each before its bytes. */
  private static PageVector pages(DataType type, List<Object> values, Random random) {
    int[] places = new int[values.size()];
    PageVector vector = new PageVector(type, places);
    vector.clear();
    for (int from = 0; from < values.size(); ) {
      int to = Math.min(values.size(), from + 1 + random.nextInt(10));
      ByteBuffer page = ByteBuffer.allocate(10 * 1024).order(ByteOrder.LITTLE_ENDIAN);
      boolean hasNull = false;
      for (int i = from; i < to; i++) {
        if (values.get(i) == null) {
          places[i] = PageVector.NULL;
          hasNull = true;
        } else {
          byte[] text = values.get(i).toString().getBytes(StandardCharsets.UTF_8);
          page.putInt(text.length);
          places[i] = page.position();
          page.put(text);
        }
      }
      vector.add(page.array(), to - from, hasNull);
      from = to;
    }
    return vector;
  }

  private static void check(Shape shape, List<Object> expected, ColumnVector found) {
    ColumnVector shown = UuidVector.of(found, shape.shown);
    ColumnarBatch batch = new ColumnarBatch(new ColumnVector[] {shown}, expected.size());
    for (int i = 0; i < expected.size(); i++) {
      InternalRow row = new GenericInternalRow(new Object[] {expected.get(i)});
      assertEquals(
          shape.plain(row, 0, false),
          shape.plain(batch.getRow(i), 0, true),
          "row %d of %s".formatted(i, shape.shown));
    }
  }

  @Test
  void valuesAreReadAsTheyWereBuilt() {
    RandomRuns.of(
        100,
        random -> {
          Shape shape = Shape.random(random, 3);
          Runs runs = Runs.random(random, shape, false);
          check(shape, runs.values().get(0), runs.sources()[0]);
        });
  }

  @Test
  void valuesArePickedAndTakenWhereTheyLie() {
    RandomRuns.of(
        100,
        random -> {
          Shape shape = Shape.random(random, 3);
          Runs runs = Runs.random(random, shape, false);
          int[] places = runs.places(random, MOST_ROWS);
          check(
              shape,
              runs.at(places, MOST_ROWS),
              new PickedVector(shape.stored, runs.sources(), places));
          Runs one =
              new Runs(shape, runs.values().subList(0, 1), new ColumnVector[] {runs.sources()[0]});
          int[] rows = one.places(random, MOST_ROWS);
          check(
              shape,
              one.at(rows, MOST_ROWS),
              new TakenVector(shape.stored, one.sources()[0], rows));
        });
  }

  @Test
  void valuesAreGatheredFromWhereTheyLie() {
    RandomRuns.of(
        200,
        random -> {
          DataType type =
              random.nextInt(3) == 0 ? DataTypes.StringType : FLAT.get(random.nextInt(FLAT.size()));
          Shape shape = Shape.flat(type);
          int capacity = 1 + random.nextInt(random.nextBoolean() ? 4 : MOST_ROWS);
          GatheredVector gathered = GatheredVector.of(shape.stored, capacity);
          for (int batch = 0; gathered != null && batch < 3; batch++) {
            boolean isText = shape.stored.equals(DataTypes.StringType);
            Runs runs = Runs.random(random, shape, isText && random.nextBoolean());
            int count = 1 + random.nextInt(capacity);
            int[] places = runs.places(random, capacity);
            gathered.gather(runs.sources(), places, count);
            List<Object> expected = runs.at(places, count);
            check(shape, expected, gathered);
            assertEquals(expected.contains(null), gathered.hasNull());
          }
        });
  }

  @Test
  void aBatchOfOneRowHasRoomForAShortText() {
    List<Object> texts = List.of(UTF8String.fromString("x".repeat(60)));
    Shape shape = Shape.flat(DataTypes.StringType);
    GatheredVector gathered = GatheredVector.of(shape.stored, 1);
    ColumnVector[] sources = {pages(shape.stored, texts, new Random(0))};
    gathered.gather(sources, new int[] {Decisions.place(0, 0)}, 1);
    check(shape, texts, gathered);
  }
}
