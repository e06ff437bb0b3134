package io.keylake.spark.accumulators;

import io.keylake.tables.spec.Reducer;
import io.keylake.tables.spec.SketchForm;
import java.util.Objects;
import org.apache.spark.sql.types.ArrayType;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DoubleType;
import org.apache.spark.sql.types.FloatType;
import org.apache.spark.sql.types.MapType;
import org.apache.spark.sql.types.StructType;

/** Which accumulator a reducer has on a type. */
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
      case MAP_MERGE -> new MergedMap((MapType) type);
      case BITMAP_OR -> new BitmapUnion();
      case HLL -> new HllUnion(formOf(reducer));
      case THETA -> new ThetaUnion(formOf(reducer));
      case KLL -> new KllUnion(formOf(reducer));
      case DAILY -> new DailyValues(reducer, (StructType) type);
      case LATEST, LATEST_NOT_NULL, FIRST ->
          throw new IllegalArgumentException(reducer.type() + " keeps one of the stored values");
    };
  }

  private static SketchForm formOf(Reducer reducer) {
    return Objects.requireNonNull(reducer.sketch(), reducer.type());
  }

  static Sum sum(DataType type) {
    return type instanceof DoubleType || type instanceof FloatType
        ? new FloatingSum(type)
        : new ExactSum(type);
  }
}
