package io.keylake.spark.keys;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import java.util.Arrays;
import org.apache.iceberg.spark.functions.BucketFunction;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.ApplyFunctionExpression;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.connector.catalog.functions.BoundFunction;
import org.apache.spark.sql.connector.catalog.functions.UnboundFunction;
import org.apache.spark.sql.types.BinaryType;
import org.apache.spark.sql.types.BooleanType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DateType;
import org.apache.spark.sql.types.DecimalType;
import org.apache.spark.sql.types.IntegerType;
import org.apache.spark.sql.types.StringType;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * {@code system.key_bucket(64, id, day)}: the bucket in which a table of 64 buckets keeps a key.
 * Rows that are repartitioned by it, into as many partitions, lie as those of the table do.
 */
public final class KeyBucketFunction implements UnboundFunction {
  public static final String NAME = "key_bucket";

  @Override
  public String name() {
    return NAME;
  }

  @Override
  public String description() {
    return "key_bucket(buckets, key...): the bucket in which a keyed table keeps a key; an int from 0";
  }

  @Override
  public BoundFunction bind(StructType inputs) {
    DataType[] types =
        Arrays.stream(inputs.fields()).map(StructField::dataType).toArray(DataType[]::new);
    if (types.length < 2 || !(types[0] instanceof IntegerType)) {
      throw new KeylakeException(
          Kind.DEFINITION,
          "key_bucket was given %s; write key_bucket(buckets, key...), the number of buckets as an int in front"
              .formatted(inputs.simpleString()));
    }
    DataType[] key = Arrays.copyOfRange(types, 1, types.length);
    for (DataType type : key) {
      if (!KeyOrder.orders(type)) {
        throw new KeylakeException(
            Kind.DEFINITION,
            "a column of type %s cannot be part of a key, so key_bucket knows no bucket for it"
                .formatted(type.simpleString()));
      }
    }
    return new Bound(types, key);
  }

  /** The number of buckets in a call, or null where this is no call with a plain number. */
  public static @Nullable Integer buckets(Expression expression) {
    return expression instanceof ApplyFunctionExpression call
            && call.function() instanceof Bound
            && call.children().head() instanceof Literal number
        ? (Integer) number.value()
        : null;
  }

  private static final class Bound implements IntFunction {
    private static final long serialVersionUID = 1L;
    private final DataType[] inputTypes;
    private final DataType[] key;
    private transient @Nullable RowHash hash;

    Bound(DataType[] inputTypes, DataType[] key) {
      this.inputTypes = inputTypes;
      this.key = key;
    }

    @Override
    public DataType[] inputTypes() {
      return inputTypes;
    }

    @Override
    public Integer produceResult(InternalRow row) {
      int buckets = row.isNullAt(0) ? 0 : row.getInt(0);
      if (buckets < 1) {
        throw new KeylakeException(
            Kind.DEFINITION,
            "key_bucket was asked for one of %d buckets; there is at least 1".formatted(buckets));
      }
      if (key.length > 1 || key[0] instanceof BooleanType) {
        if (hash == null) {
          hash = new RowHash(key, new boolean[key.length]);
        }
        return hash.bucket(row, 1, buckets);
      }
      return row.isNullAt(1) ? 0 : bucketOfOne(row, buckets);
    }

    /** Iceberg's own transform. */
    private int bucketOfOne(InternalRow row, int buckets) {
      DataType type = key[0];
      if (type instanceof IntegerType || type instanceof DateType) {
        return BucketFunction.BucketInt.invoke(buckets, row.getInt(1));
      }
      if (type instanceof StringType) {
        return BucketFunction.BucketString.invoke(buckets, row.getUTF8String(1));
      }
      if (type instanceof BinaryType) {
        return BucketFunction.BucketBinary.invoke(buckets, row.getBinary(1));
      }
      if (type instanceof DecimalType decimal) {
        return BucketFunction.BucketDecimal.invoke(
            buckets, row.getDecimal(1, decimal.precision(), decimal.scale()));
      }
      return BucketFunction.BucketLong.invoke(buckets, row.getLong(1));
    }

    @Override
    public String toString() {
      return NAME;
    }

    @Override
    public String name() {
      return NAME;
    }

    @Override
    public String canonicalName() {
      return "keylake." + NAME + Arrays.toString(inputTypes);
    }
  }
}
