package io.keylake.spark.reducers.builtin;

import io.keylake.spark.reducers.Accumulator;
import io.keylake.spark.reducers.sketches.BitmapUnion;
import io.keylake.spark.reducers.sketches.HllUnion;
import io.keylake.spark.reducers.sketches.KllUnion;
import io.keylake.spark.reducers.sketches.KllValues;
import io.keylake.spark.reducers.sketches.PageUnion;
import io.keylake.spark.reducers.sketches.ThetaUnion;
import io.keylake.spark.reducers.sketches.UnionAccumulator;
import io.keylake.spark.reducers.user.UserAccumulator;
import io.keylake.tables.spec.Reducer;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Makes the accumulator that a reducer has on a type. */
public final class Accumulators {
  private Accumulators() {}

  /**
   * @param reducer one that combines all contributions
   * @param type of the column, one that the reducer takes
   */
  public static Accumulator of(Reducer reducer, DataType type) {
    return switch (reducer.kind()) {
      case SUM -> sum(type);
      case MIN -> new Extreme(type, -1);
      case MAX -> new Extreme(type, 1);
      case COUNT -> new ContributionCount();
      case BOOL_AND -> new Truth(false);
      case BOOL_OR -> new Truth(true);
      case COLLECT ->
          new CollectedList(((ArrayType) type).elementType(), reducer.distinct(), reducer.limit());
      case ARRAY_SUM -> new ArraySum(((ArrayType) type).elementType());
      case MAP_MERGE ->
          reducer.of() == null
              ? new MergedMap((MapType) type)
              : new ReducedMap((MapType) type, reducer.of());
      case BITMAP_OR ->
          new UnionAccumulator(reducer.isSet("pages") ? new PageUnion() : new BitmapUnion());
      case HLL -> new UnionAccumulator(new HllUnion(reducer.size("lg_k")));
      case THETA -> new UnionAccumulator(new ThetaUnion(reducer.size("lg_nominal")));
      case KLL ->
          new UnionAccumulator(
              new KllUnion(reducer.size("k"), KllValues.of(reducer.word("values"))));
      case DAILY -> new DailyValues(reducer, (StructType) type);
      case TOP_N ->
          new LargestElements(
              (StructType) ((ArrayType) type).elementType(), reducer.word("by"), reducer.size("n"));
      case LATEST_N -> new NewestElements(((ArrayType) type).elementType(), reducer.size("n"));
      case AVERAGE, MOMENTS -> StructParts.ofSums((StructType) type);
      case STRUCT -> StructParts.of((StructType) type, reducer.members());
      case OWN -> new UserAccumulator(reducer.word("name"), type);
      case LATEST, LATEST_NOT_NULL, FIRST ->
          throw new IllegalArgumentException(reducer.type() + " keeps one of the stored values");
      case PYTHON ->
          throw new IllegalArgumentException("contributions are combined in batches in Python");
    };
  }

  static Sum sum(DataType type) {
    return type instanceof DoubleType || type instanceof FloatType
        ? new FloatingSum(type)
        : new ExactSum(type);
  }
}
