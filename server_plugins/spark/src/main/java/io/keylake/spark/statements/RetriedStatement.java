package io.keylake.spark.statements;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.spark.plans.CommandNode;
import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.execution.SparkPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;

/**
 * The write of a statement, and again the whole statement while commits of others come between its
 * read and its own commit. It is public because Spark copies plans by their constructors.
 */
public final class RetriedStatement extends CommandNode {
  private static final long serialVersionUID = 1L;
  private final SparkPlan write;
  private final Rerun rerun;

  public RetriedStatement(SparkPlan write, Rerun rerun) {
    this.write = write;
    this.rerun = rerun;
  }

  /** The write of a statement as such a one; other writes as they are. */
  public static SparkPlan of(SparkPlan write) {
    Rerun rerun = Rerun.of(write);
    return rerun == null ? write : new RetriedStatement(write, rerun);
  }

  @Override
  public Seq<InternalRow> run() {
    SparkPlan next = write;
    for (int runs = 1; ; runs++) {
      try {
        return Columns.seq(List.of(next.executeCollect()));
      } catch (KeylakeException e) {
        if (e.kind() != COMMIT_CONFLICT) {
          throw e;
        }
        if (!rerun.isAllowed(runs) || !Backoff.pause(runs)) {
          throw rerun.lost(e, runs);
        }
      }
      SparkPlan planned = rerun.planned();
      next = planned instanceof RetriedStatement again ? again.write : planned;
    }
  }

  @Override
  public Seq<Attribute> output() {
    return write.output();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return List.of(write, rerun);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of(write);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new RetriedStatement(inputs.get(0), rerun);
  }
}
