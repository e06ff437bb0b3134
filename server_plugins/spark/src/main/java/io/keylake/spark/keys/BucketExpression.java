package io.keylake.spark.keys;

import io.keylake.tables.GuestApi;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.spark.functions.BucketFunction;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;
import scala.jdk.javaapi.CollectionConverters;

/** The bucket of a row that is about to be written, as an expression over its key columns. */
@GuestApi
public final class BucketExpression {
  private BucketExpression() {}

  /**
   * @param bucketBy the columns the bucket is made of, as the table has them
   */
  public static Expression of(KeyedSchema schema, List<Expression> bucketBy) {
    if (schema.hasGroups()) {
      return GroupExpression.bucket(schema, bucketBy);
    }
    List<Expression> arguments = new ArrayList<>();
    ScalarFunction<?> function;
    if (schema.hasBucketColumn()) {
      function = new StoredBucket(schema);
    } else {
      StructType inputs =
          new StructType()
              .add("buckets", DataTypes.IntegerType)
              .add("key", bucketBy.get(0).dataType());
      function = (ScalarFunction<?>) new BucketFunction().bind(inputs);
      arguments.add(Literal.create(schema.spec().buckets(), DataTypes.IntegerType));
    }
    arguments.addAll(bucketBy);
    return V2ExpressionUtils.resolveScalarFunction(
        function, CollectionConverters.asScala(arguments).toSeq());
  }

  /** The hash over the whole of {@code bucket_by}. */
  private static final class StoredBucket implements IntFunction {
    private static final long serialVersionUID = 1L;
    private final int buckets;
    private final DataType[] types;
    private final boolean[] uuids;
    private transient @Nullable RowHash hash;

    StoredBucket(KeyedSchema schema) {
      List<NestedField> fields = schema.bucketBy();
      this.buckets = schema.spec().buckets();
      this.types = fields.stream().map(ColumnTypes::spark).toArray(DataType[]::new);
      this.uuids = new boolean[types.length];
      for (int i = 0; i < uuids.length; i++) {
        uuids[i] = fields.get(i).type().typeId() == Type.TypeID.UUID;
      }
    }

    @Override
    public Integer produceResult(InternalRow key) {
      if (hash == null) {
        hash = new RowHash(types, uuids);
      }
      return hash.bucket(key, 0, buckets);
    }

    @Override
    public DataType[] inputTypes() {
      return types;
    }

    @Override
    public String name() {
      return "keylake_bucket";
    }

    @Override
    public String canonicalName() {
      return "keylake.bucket(" + buckets + ")";
    }
  }
}
