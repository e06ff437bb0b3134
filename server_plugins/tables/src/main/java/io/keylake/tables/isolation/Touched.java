package io.keylake.tables.isolation;

import io.keylake.merge.Presence;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.planning.FileFacts;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Evaluator;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.InclusiveMetricsEvaluator;
import org.apache.iceberg.expressions.Projections;
import org.apache.iceberg.types.Types.NestedField;

/** Says whether a commit may have touched rows, by the files that it added or removed. */
interface Touched {
  boolean isByAdding(DataFile file);

  default boolean isByRemoving(DataFile file) {
    return isByAdding(file);
  }

  /** The rows that a filter selects. */
  static Touched selected(
      Table table, KeyedSchema schema, Function<Set<Integer>, Expression> filter) {
    Expression rows = filter.apply(BucketCounts.of(table).all());
    InclusiveMetricsEvaluator statistics =
        new InclusiveMetricsEvaluator(schema.table(), rows, true);
    // Bound by the ids of columns, so that a column may be renamed meanwhile.
    Expression bound = Binder.bind(schema.table().asStruct(), rows, true);
    Map<Integer, Evaluator> partitions = new HashMap<>();
    return file -> {
      PartitionSpec spec =
          Objects.requireNonNull(table.specs().get(file.specId()), "a table keeps its specs");
      Evaluator partition =
          partitions.computeIfAbsent(
              file.specId(),
              id ->
                  new Evaluator(
                      spec.partitionType(), Projections.inclusive(spec, true).project(bound)));
      return partition.eval(file.partition()) && statistics.eval(file);
    };
  }

  /** A test against what a statement has written: some columns of some keys. */
  static Touched written(Table table, KeyedSchema schema, List<DataFile> files) {
    BucketCounts counts = BucketCounts.of(table);
    int coarsest = counts.all().first();
    Map<List<Serializable>, List<DataFile>> byBucket =
        files.stream().collect(Collectors.groupingBy(file -> counts.partition(file, coarsest)));
    return new Touched() {
      @Override
      public boolean isByAdding(DataFile file) {
        return sameKeys(file).stream().anyMatch(own -> sameColumns(own, file, schema));
      }

      @Override
      public boolean isByRemoving(DataFile file) {
        return !sameKeys(file).isEmpty();
      }

      private List<DataFile> sameKeys(DataFile file) {
        FileFacts facts = FileFacts.of(file, schema, List.of());
        return byBucket.getOrDefault(counts.partition(file, coarsest), List.of()).stream()
            .filter(own -> FileFacts.of(own, schema, List.of()).meets(facts, schema))
            .toList();
      }
    };
  }

  private static boolean sameColumns(DataFile one, DataFile other, KeyedSchema schema) {
    return has(one, schema, schema.deleted())
        || has(other, schema, schema.deleted())
        || schema.leaves().fields().stream()
            .anyMatch(leaf -> has(one, schema, leaf) && has(other, schema, leaf));
  }

  private static boolean has(DataFile file, KeyedSchema schema, NestedField leaf) {
    return FileFacts.presence(file, schema, leaf) != Presence.NEVER;
  }
}
