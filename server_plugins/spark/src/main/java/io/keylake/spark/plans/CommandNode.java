package io.keylake.spark.plans;

import java.util.List;
import org.apache.spark.sql.execution.SparkPlan;
import org.apache.spark.sql.execution.datasources.v2.V2CommandExec;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.IndexedSeq;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * A step of a physical plan that runs once, in the driver. It is equal to another one of its class
 * with equal parts.
 */
public abstract class CommandNode extends V2CommandExec {
  private static final long serialVersionUID = 1L;

  /** The arguments of the constructor, in their order. */
  protected abstract List<? extends @Nullable Object> parts();

  /** The plans whose rows the node takes; none where it takes no rows. */
  protected abstract List<SparkPlan> inputs();

  /** The node over other plans, as many as there are {@link #inputs}. */
  protected abstract SparkPlan over(List<SparkPlan> inputs);

  @Override
  public final Seq<SparkPlan> children() {
    return CollectionConverters.asScala(inputs()).toSeq();
  }

  @Override
  public final SparkPlan withNewChildrenInternal(IndexedSeq<SparkPlan> children) {
    return over(CollectionConverters.asJava(children));
  }

  @Override
  public final int productArity() {
    return parts().size();
  }

  @Override
  public final @Nullable Object productElement(int n) {
    return parts().get(n);
  }

  @Override
  public final boolean canEqual(Object other) {
    return getClass().isInstance(other);
  }

  @Override
  public final boolean equals(@Nullable Object other) {
    return other != null
        && getClass() == other.getClass()
        && parts().equals(((CommandNode) other).parts());
  }

  @Override
  public final int hashCode() {
    return parts().hashCode();
  }
}
