package io.keylake.spark.read.scan;

import io.keylake.merge.MergeRules;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.read.indexes.IndexProbes;
import io.keylake.spark.read.task.OutputColumn;
import io.keylake.spark.read.task.OutputColumn.Source;
import io.keylake.spark.read.task.ReadTask;
import io.keylake.tables.indexes.ValueIndexes;
import io.keylake.tables.planning.ReadPlan;
import io.keylake.tables.planning.ReadPlanner;
import io.keylake.tables.planning.request.ReadScope;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructField;
import org.apache.spark.sql.types.StructType;
import org.jspecify.annotations.Nullable;

/**
 * A request of a query to a keyed table: the rows and columns that it wants.
 *
 * @param scope the commits that are read, and the experiments beside them
 * @param wanted the columns
 * @param filters what the planner and the readers may use of the query's filters
 * @param limit how many rows are enough, or {@link #ALL}
 * @param tasks what each task reads
 * @param buckets by how many the rows are wanted, a part of those that files lie in; null for as
 *     many as there are
 */
record ScanRequest(
    ReadScope scope,
    StructType wanted,
    PushedFilters filters,
    int limit,
    ScanTasks tasks,
    @Nullable Integer buckets) {
  static final int ALL = -1;

  ScanRequest and(PushedFilters more) {
    return new ScanRequest(scope, wanted, filters.and(more), limit, tasks, buckets);
  }

  /** A bucket may become several tasks. */
  boolean isSpread() {
    return tasks != ScanTasks.BUCKETS;
  }

  boolean isOrdered() {
    return tasks != ScanTasks.PARTS;
  }

  boolean has(String column) {
    return Arrays.asList(wanted.fieldNames()).contains(column);
  }

  /** The columns as tasks give them. */
  List<OutputColumn> output(KeyedSchema schema) {
    List<OutputColumn> output = new ArrayList<>();
    for (StructField field : wanted.fields()) {
      switch (field.name()) {
        case KeyedSchema.BUCKET -> output.add(hidden(Source.BUCKET, field));
        case KeyedSchema.IS_DELETED -> output.add(hidden(Source.IS_DELETED, field));
        case KeyedSchema.MERGE_INFO -> output.add(hidden(Source.MERGE_INFO, field));
        default -> {
          NestedField stored = schema.table().asStruct().field(field.name());
          output.add(OutputColumn.of(schema, stored, field.dataType()));
        }
      }
    }
    return output;
  }

  private static OutputColumn hidden(Source source, StructField field) {
    return new OutputColumn(source, -1, field.dataType(), false);
  }

  ReadPlan plan(Table table, KeyedSchema schema) {
    ReadSpec readSpec = readSpec(table, schema);
    ReadPlanner planner =
        buckets == null
            ? new ReadPlanner(table, schema, readSpec)
            : new ReadPlanner(table, schema, readSpec, buckets);
    ReadPlan all = planner.plan();
    return limit == ALL ? all : all.limited(limit);
  }

  private ReadSpec readSpec(Table table, KeyedSchema schema) {
    Set<Integer> values =
        output(schema).stream()
            .filter(column -> column.source() == Source.VALUE)
            .map(OutputColumn::fieldId)
            .collect(Collectors.toSet());
    boolean stamps = has(KeyedSchema.MERGE_INFO);
    MergeRules.Wanted rows =
        scope.after() == null
            ? stamps ? MergeRules.Wanted.ROWS_AND_STAMPS : MergeRules.Wanted.ROWS
            : stamps ? MergeRules.Wanted.HISTORY : MergeRules.Wanted.ROWS_AND_TOMBSTONES;
    return new ReadSpec(
        scope,
        filters.fileFilter(schema, scope.buckets(table)),
        filters.onValues(),
        values,
        rows,
        isOrdered());
  }

  /** The questions of the filters that indices of the table answer. */
  IndexProbes indexProbes(Table table, KeyedSchema schema) {
    return IndexProbes.of(ValueIndexes.values(table.properties(), schema), filters.valueFilters());
  }

  /** The part of the request that every task is told. */
  ReadTask task(Table table, KeyedSchema schema) {
    return new ReadTask(
        schema,
        output(schema),
        new ReadTask.Filters(
            FileFilter.of(filters.keyFilters(), schema.sortKey()),
            FileFilter.of(filters.filters(), schema.table().columns()),
            indexProbes(table, schema),
            filters.rowTests()),
        isOrdered(),
        DataFiles.BATCH_ROWS);
  }
}
