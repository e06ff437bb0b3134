package io.keylake.spark.write.skew;

import io.keylake.spark.engine.Shuffles;
import io.keylake.spark.engine.Shuffles.Shuffled;
import io.keylake.spark.plans.PhysicalNode;
import io.keylake.spark.write.skew.KeyRanges.Point;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.TaskContext;
import org.apache.spark.rdd.RDD;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.BoundReference;
import org.apache.spark.sql.catalyst.expressions.Expression;
import org.apache.spark.sql.catalyst.expressions.UnsafeProjection;
import org.apache.spark.sql.catalyst.expressions.V2ExpressionUtils;
import org.apache.spark.sql.execution.SparkPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Rows that a shuffle has brought together by their cells, partitions and buckets:
 *
 * <ol>
 *   <li>The shuffle says how much each of its partitions has. Small neighbours become one task.
 *   <li>Where a partition is hot, its rows are looked at in the files of the shuffle, and moved
 *       once more, by ranges of (partition, bucket, key) that hold about as many rows each.
 * </ol>
 *
 * <p>What makes the rows runs once. It is public because Spark copies plans by their constructors.
 */
public final class SpreadExec extends PhysicalNode {
  private static final long serialVersionUID = 1L;
  private static final int POINTS_PER_RANGE = 64;
  private static final int POINTS_PER_TASK = 1024;
  private static final int MARGIN = 3; // some tasks read more rows than others

  private final SparkPlan shuffle;
  private final SpreadSpec spreading;
  private final TaskSize size;
  private final @Nullable FewRows few;

  /**
   * @param few what the driver is told of the rows; null for nothing
   */
  public SpreadExec(SparkPlan shuffle, SpreadSpec spreading, TaskSize size, @Nullable FewRows few) {
    this.shuffle = shuffle;
    this.spreading = spreading;
    this.size = size;
    this.few = few;
  }

  /**
   * The rows of a plan that spreads them last, where the driver has been told all of them. Runs
   * what makes them, which is not run again when the plan is.
   *
   * @param plan as Spark has prepared it
   */
  public static @Nullable List<InternalRow> fewRows(SparkPlan plan) {
    SparkPlan decided = Shuffles.decided(plan);
    while (!(decided instanceof SpreadExec) && decided.children().size() == 1) {
      decided = decided.children().head();
    }
    return decided instanceof SpreadExec spread
            && spread.few != null
            && Shuffles.ran(spread.shuffle) != null
        ? spread.few.all()
        : null;
  }

  @Override
  public Seq<Attribute> output() {
    return shuffle.output();
  }

  @Override
  public RDD<InternalRow> doExecute() {
    Shuffled shuffled = Shuffles.ran(shuffle);
    if (shuffled == null) {
      return shuffle.execute(); // nothing to move
    }
    long[] bytes = shuffled.bytesOfPartitions();
    TaskShares shares = TaskShares.of(bytes, sparkContext().defaultParallelism(), size);
    RDD<InternalRow> whole =
        shuffled.whole(
            shares.whole().stream().map(share -> new int[] {share.begin(), share.end()}).toList());
    return shares.hot().isEmpty()
        ? whole
        : sparkContext()
            .union(
                CollectionConverters.asScala(List.of(whole, divided(shuffled, shares))).toSeq(),
                scala.reflect.ClassTag.apply(InternalRow.class));
  }

  private RDD<InternalRow> divided(Shuffled shuffled, TaskShares shares) {
    long[] bytes = shuffled.bytesOfPartitions();
    int ranges = shares.hot().stream().mapToInt(i -> shares.tasksFor(bytes[i])).sum();
    RDD<InternalRow> hot = shuffled.parts(shares.hot(), i -> shares.tasksFor(bytes[i]));
    List<Attribute> columns = CollectionConverters.asJava(output());
    KeyRanges cutting = new KeyRanges(spreading.types(columns), spreading.columnsOfCell());
    List<InternalRow> cuts = cutting.cuts(sample(hot, columns, ranges), ranges);
    Expression range =
        V2ExpressionUtils.resolveScalarFunction(
            new KeyRange(spreading.types(columns), cuts),
            seq(List.<Expression>copyOf(spreading.columns(columns))));
    return Shuffles.ofTasks(hot, output(), range, cuts.size() + 1);
  }

  private List<Point> sample(RDD<InternalRow> rows, List<Attribute> columns, int ranges) {
    int points = MARGIN * POINTS_PER_RANGE * ranges;
    List<Expression> place =
        spreading.place().stream()
            .<Expression>map(i -> new BoundReference(i, columns.get(i).dataType(), true))
            .toList();
    return rows
        .toJavaRDD()
        .mapPartitions(
            some -> {
              UnsafeProjection placeOf = UnsafeProjection.create(seq(place));
              int share = points / TaskContext.get().numPartitions() & ~1;
              return List.of(KeySample.of(some, placeOf, Math.max(POINTS_PER_TASK, share)))
                  .iterator();
            })
        .collect()
        .stream()
        .flatMap(KeySample::points)
        .toList();
  }

  private static <T> Seq<T> seq(List<T> list) {
    return CollectionConverters.asScala(list).toSeq();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return Arrays.asList(shuffle, spreading, size, few);
  }

  @Override
  protected List<SparkPlan> inputs() {
    return List.of(shuffle);
  }

  @Override
  protected SparkPlan over(List<SparkPlan> inputs) {
    return new SpreadExec(inputs.get(0), spreading, size, few);
  }
}
