package io.keylake.spark.layout;

import io.keylake.spark.keys.KeyBucketFunction;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Alias;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.Literal;
import org.apache.spark.sql.catalyst.expressions.NamedExpression;
import org.apache.spark.sql.catalyst.expressions.Remainder;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.catalyst.plans.logical.Project;
import org.apache.spark.sql.catalyst.plans.logical.RepartitionByExpression;
import org.apache.spark.sql.catalyst.rules.Rule;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.Metadata;
import org.apache.spark.sql.types.MetadataBuilder;
import org.jspecify.annotations.Nullable;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;
import scala.runtime.AbstractPartialFunction;

/**
 * Marks frames that are repartitioned by {@link KeyBucketFunction}, into as many partitions as
 * there are buckets, so that the optimizer knows them for what they are: by then, Spark may have
 * computed the bucket, and have nothing left of the call.
 */
public final class BucketedFrameRule extends Rule<LogicalPlan> {
  private static final String BUCKETS = "keylake.buckets";
  private static final String BUCKET_OF = "keylake.bucket_of";

  @Override
  public LogicalPlan apply(LogicalPlan plan) {
    return plan.resolveOperatorsUp(
        new AbstractPartialFunction<LogicalPlan, LogicalPlan>() {
          @Override
          public boolean isDefinedAt(LogicalPlan node) {
            return node instanceof RepartitionByExpression frame
                && frame.resolved()
                && layout(frame) == null;
          }

          @Override
          public LogicalPlan apply(LogicalPlan node) {
            return marked((RepartitionByExpression) node);
          }
        });
  }

  /** The layout of a marked frame, or null where it has lost a column, or is none. */
  static @Nullable KeyLayout layout(RepartitionByExpression frame) {
    List<Expression> by = CollectionConverters.asJava(frame.partitionExpressions());
    if (by.size() != 1
        || !(by.get(0) instanceof AttributeReference bucket)
        || !bucket.metadata().contains(BUCKET_OF)) {
      return null;
    }
    int buckets = (int) bucket.metadata().getLong(BUCKETS);
    List<Attribute> columns = new ArrayList<>();
    for (long id : bucket.metadata().getLongArray(BUCKET_OF)) {
      for (Attribute column : CollectionConverters.asJava(frame.child().output())) {
        if (column.exprId().id() == id) {
          columns.add(column);
        }
      }
    }
    return columns.size() == bucket.metadata().getLongArray(BUCKET_OF).length
            && frame.optNumPartitions().contains(buckets)
        ? KeyLayout.of(columns, buckets, bucket)
        : null;
  }

  /** The frame in fewer buckets, each made of several of its own. */
  static LogicalPlan by(int buckets, RepartitionByExpression frame, KeyLayout layout) {
    AttributeReference bucket = layout.hidden().get(0);
    Metadata mark =
        new MetadataBuilder().withMetadata(bucket.metadata()).putLong(BUCKETS, buckets).build();
    Alias fewer =
        new Alias(
            new Remainder(bucket, Literal.create(buckets, DataTypes.IntegerType)),
            bucket.name(),
            NamedExpression.newExprId(),
            bucket.qualifier(),
            Option.apply(mark),
            CollectionConverters.asScala(List.<String>of()).toSeq());
    List<NamedExpression> columns =
        new ArrayList<>(CollectionConverters.asJava(frame.child().output()));
    columns.add(fewer);
    return frame.copy(
        CollectionConverters.asScala(List.<Expression>of(fewer.toAttribute())).toSeq(),
        new Project(CollectionConverters.asScala(columns).toSeq(), frame.child()),
        Option.apply(buckets),
        frame.optAdvisoryPartitionSize());
  }

  private static LogicalPlan marked(RepartitionByExpression frame) {
    List<Expression> by = CollectionConverters.asJava(frame.partitionExpressions());
    if (by.size() != 1
        || !(by.get(0) instanceof AttributeReference bucket)
        || !(frame.child() instanceof Project project)) {
      return frame;
    }
    List<NamedExpression> columns =
        new ArrayList<>(CollectionConverters.asJava(project.projectList()));
    for (int i = 0; i < columns.size(); i++) {
      if (columns.get(i) instanceof Alias alias && alias.exprId().equals(bucket.exprId())) {
        Metadata mark = mark(alias);
        if (mark != null) {
          columns.set(i, marked(alias, mark));
          return frame.copy(
              CollectionConverters.asScala(List.<Expression>of(bucket.withMetadata(mark))).toSeq(),
              project.copy(CollectionConverters.asScala(columns).toSeq(), project.child()),
              frame.optNumPartitions(),
              frame.optAdvisoryPartitionSize());
        }
      }
    }
    return frame;
  }

  /** Rules of Spark take a column now from where it is used, now from where it is made. */
  private static Alias marked(Alias alias, Metadata mark) {
    return new Alias(
        alias.child(),
        alias.name(),
        alias.exprId(),
        alias.qualifier(),
        Option.apply(mark),
        alias.nonInheritableMetadataKeys());
  }

  private static @Nullable Metadata mark(Alias alias) {
    Integer buckets = KeyBucketFunction.buckets(alias.child());
    List<Expression> arguments = CollectionConverters.asJava(alias.child().children());
    if (buckets == null
        || !arguments.stream().skip(1).allMatch(argument -> argument instanceof Attribute)) {
      return null;
    }
    long[] columns =
        arguments.stream()
            .skip(1)
            .mapToLong(argument -> ((Attribute) argument).exprId().id())
            .toArray();
    return new MetadataBuilder().putLong(BUCKETS, buckets).putLongArray(BUCKET_OF, columns).build();
  }
}
