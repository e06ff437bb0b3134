package io.keylake.spark.keys;

import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.types.StructType;
import scala.jdk.javaapi.CollectionConverters;

/** Tells in which bucket of a table a row lies, as it is stored. */
public final class RowBucket {
  private final UnsafeProjection bucket;

  /**
   * @param stored the columns of the rows
   */
  public RowBucket(KeyedSchema schema, StructType stored) {
    List<Expression> columns = new ArrayList<>();
    for (NestedField field : schema.bucketBy()) {
      int position = stored.fieldIndex(field.name());
      columns.add(
          new BoundReference(
              position, stored.fields()[position].dataType(), /* nullable= */ false));
    }
    Expression expression = BucketExpression.of(schema, columns);
    this.bucket =
        UnsafeProjection.create(CollectionConverters.asScala(List.of(expression)).toSeq());
  }

  public int of(InternalRow row) {
    return bucket.apply(row).getInt(0);
  }
}
