package io.keylake.spark.table;

import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.connector.catalog.constraints.Constraint;
import org.apache.spark.sql.connector.expressions.Expressions;
import org.apache.spark.sql.connector.expressions.NamedReference;
import org.apache.spark.sql.connector.expressions.Transform;

/** The layout of a keyed table as SQL declares it: its buckets and its key. */
final class DeclaredLayout {
  /** Spark names the constraint of a key so, if nobody does. */
  private static final String KEY = "primary_key";

  private DeclaredLayout() {}

  /** A stored bucket is shown as what it is made of. */
  static Transform[] buckets(KeyedSchema keyed) {
    List<Transform> transforms = new ArrayList<>();
    keyed
        .spec()
        .partitionBy()
        .forEach(name -> transforms.add(Expressions.identity(QuotingUtils.quoteIdentifier(name))));
    transforms.add(
        Expressions.bucket(
            keyed.spec().buckets(),
            keyed.spec().bucketBy().stream()
                .map(QuotingUtils::quoteIdentifier)
                .toArray(String[]::new)));
    return transforms.toArray(Transform[]::new);
  }

  /**
   * The key as a constraint, which is not enforced, in the words of SQL: a row whose key is there
   * already is no error.
   */
  static Constraint[] key(KeyedSchema keyed) {
    NamedReference[] key =
        keyed.spec().key().stream()
            .map(name -> Expressions.column(QuotingUtils.quoteIdentifier(name)))
            .toArray(NamedReference[]::new);
    return new Constraint[] {Constraint.primaryKey(KEY, key).enforced(false).build()};
  }
}
