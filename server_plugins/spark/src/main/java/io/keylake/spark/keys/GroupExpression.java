package io.keylake.spark.keys;

import io.keylake.tables.GuestApi;
import io.keylake.tables.spec.GroupHash;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableSpec;
import java.util.List;
import org.apache.iceberg.types.Type;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.connector.catalog.functions.ScalarFunction;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DecimalType;
import scala.jdk.javaapi.CollectionConverters;

/** The group of a row that is about to be written, and the bucket that holds it. */
@GuestApi
public final class GroupExpression {
  private GroupExpression() {}

  /**
   * @param bucketBy the columns that are hashed, as the table has them
   */
  public static Expression group(KeyedSchema schema, List<Expression> bucketBy) {
    return expression(new OfKey(schema, Part.GROUP), bucketBy);
  }

  static Expression bucket(KeyedSchema schema, List<Expression> bucketBy) {
    return expression(new OfKey(schema, Part.BUCKET), bucketBy);
  }

  private static Expression expression(ScalarFunction<?> function, List<Expression> bucketBy) {
    return V2ExpressionUtils.resolveScalarFunction(
        function, CollectionConverters.asScala(bucketBy).toSeq());
  }

  private enum Part {
    GROUP,
    BUCKET
  }

  private static final class OfKey implements IntFunction {
    private static final long serialVersionUID = 1L;
    private final Part part;
    private final TableSpec spec;
    private final Type[] types;
    private final DataType[] sparkTypes;
    private transient GroupHash hash;

    OfKey(KeyedSchema schema, Part part) {
      this.part = part;
      List<NestedField> fields = schema.bucketBy();
      this.spec = schema.spec();
      this.types = fields.stream().map(NestedField::type).toArray(Type[]::new);
      this.sparkTypes = fields.stream().map(ColumnTypes::spark).toArray(DataType[]::new);
      this.hash = new GroupHash(spec); // refuses a class that is not there before a task does
    }

    @Override
    public Integer produceResult(InternalRow key) {
      if (hash == null) {
        hash = new GroupHash(spec);
      }
      hash.reset();
      for (int i = 0; i < types.length; i++) {
        if (key.isNullAt(i)) {
          return 0; // the writer refuses the row, with its values
        }
        add(key, i);
      }
      return part == Part.GROUP ? hash.group() : hash.bucket();
    }

    private void add(InternalRow key, int i) {
      switch (types[i].typeId()) {
        case STRING -> hash.add(key.getUTF8String(i).getBytes());
        case BINARY -> hash.add(key.getBinary(i));
        case UUID -> hash.add(types[i], RowHash.uuid(key.getUTF8String(i)));
        case DECIMAL -> {
          DecimalType type = (DecimalType) sparkTypes[i];
          hash.add(types[i], key.getDecimal(i, type.precision(), type.scale()).toJavaBigDecimal());
        }
        default -> hash.add(types[i], key.get(i, sparkTypes[i]));
      }
    }

    @Override
    public DataType[] inputTypes() {
      return sparkTypes;
    }

    @Override
    public String name() {
      return part == Part.GROUP ? "keylake_group" : "keylake_bucket_of_group";
    }

    @Override
    public String canonicalName() {
      return "keylake.%s(%d, %s)".formatted(name(), spec.buckets(), spec.groups());
    }
  }
}
