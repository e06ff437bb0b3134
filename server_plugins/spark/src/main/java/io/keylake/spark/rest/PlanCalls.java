package io.keylake.spark.rest;

import io.keylake.spark.rest.http.Answer;
import io.keylake.spark.rest.http.RequestRefused;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.spec.ColumnNames;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.StaticTableOperations;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.rest.PlanStatus;
import org.apache.iceberg.rest.requests.PlanTableScanRequest;
import org.apache.iceberg.rest.requests.PlanTableScanRequestParser;
import org.apache.iceberg.rest.responses.PlanTableScanResponse;
import org.apache.iceberg.rest.responses.PlanTableScanResponseParser;
import org.apache.iceberg.util.SnapshotUtil;
import org.jspecify.annotations.Nullable;

/**
 * Plans of scans, made here for clients that ask for them: the files that may have rows which a
 * filter wants, with their deletes, and what of the filter is left for each. A plan is one answer,
 * and nothing is kept of it but the list of the files of the snapshot, for other plans.
 *
 * @param keyed what clients that do not merge read of keyed tables
 */
record PlanCalls(KeyedTables keyed) {
  /** A client has loaded the state that it names, however old it is. */
  private static final Duration OF_ANY_AGE = Duration.ofDays(1);

  Answer plan(Call call) {
    PlanTableScanRequest request =
        Messages.parsed(call.request().body(), PlanTableScanRequestParser::fromJson);
    if (request.startSnapshotId() != null || request.endSnapshotId() != null) {
      throw new UnsupportedOperationException(
          "scans of what was appended between two snapshots are planned by clients; leave start-snapshot-id and end-snapshot-id out");
    }
    Table table = table(call, request);
    PlanTableScanResponse response =
        PlanTableScanResponse.builder(table.specs())
            .withPlanStatus(PlanStatus.COMPLETED)
            .withFileScanTasks(tasks(table, request))
            .build();
    return Answer.of(PlanTableScanResponseParser.toJson(response));
  }

  /** The table as the client sees it: a keyed table may be its merged state. */
  private Table table(Call call, PlanTableScanRequest request) {
    TableIdentifier name = call.table();
    Optional<Table> merged = KeyedGuard.keyed(call, name);
    if (merged.isPresent()) {
      return state(call, request, merged.get(), LoadedTables.archived(call, merged::get));
    }
    try {
      return call.catalog().loadTable(name);
    } catch (NoSuchTableException e) {
      TableRef ref = KeyedGuard.ref(call, call.table()).orElseThrow(() -> e);
      Table stored = call.catalog().loadTable(ref.table());
      ref.check(stored);
      return state(call, request, stored, ref.ref());
    } catch (RuntimeException e) {
      throw StoreFailure.loading(name.toString(), e);
    }
  }

  private Table state(Call call, PlanTableScanRequest request, Table stored, @Nullable String ref) {
    Duration age = request.snapshotId() == null ? call.freshness() : OF_ANY_AGE;
    TableMetadata state = keyed.load(stored.uuid(), ref, () -> stored, age).tableMetadata();
    return new BaseTable(new StaticTableOperations(state, stored.io()), stored.name());
  }

  private static List<FileScanTask> tasks(Table table, PlanTableScanRequest request) {
    Snapshot snapshot = snapshot(table, request.snapshotId());
    if (snapshot == null) {
      return List.of();
    }
    Schema schema =
        request.useSnapshotSchema()
            ? SnapshotUtil.schemaFor(table, snapshot.snapshotId())
            : table.schema();
    Expression filter = request.filter() == null ? Expressions.alwaysTrue() : request.filter();
    Set<Integer> statistics = new HashSet<>(used(schema, filter, request.caseSensitive()));
    List<String> asked = Objects.requireNonNullElse(request.statsFields(), List.of());
    asked.stream()
        .map(schema::findField)
        .filter(Objects::nonNull)
        .forEach(field -> statistics.add(field.fieldId()));
    Expression named = new ColumnNames(schema, schema, request.caseSensitive()).translated(filter);
    Residuals residuals = new Residuals(schema, named, !asked.isEmpty());
    return new FileListing(table, schema, named, statistics)
        .at(snapshot.snapshotId()).stream().map(residuals::of).toList();
  }

  private static @Nullable Snapshot snapshot(Table table, @Nullable Long id) {
    if (id == null) {
      return table.currentSnapshot();
    }
    Snapshot found = table.snapshot(id);
    if (found == null) {
      throw RequestRefused.notFound(
          "table %s has no snapshot %d any more; load it and plan again"
              .formatted(table.name(), id));
    }
    return found;
  }

  /** The field ids of the columns that a filter names. */
  private static Set<Integer> used(Schema schema, Expression filter, boolean isCaseSensitive) {
    try {
      return Binder.boundReferences(schema.asStruct(), List.of(filter), isCaseSensitive);
    } catch (RuntimeException e) {
      throw RequestRefused.bad("the filter does not fit the table: " + e.getMessage());
    }
  }

  /** The part of a filter that is left for the rows of a file. */
  private static final class Residuals {
    private final String schema;
    private final Expression filter;
    private final boolean hasStatistics;
    private final Map<Integer, ResidualEvaluator> evaluators = new HashMap<>();
    private final Map<Integer, String> specs = new HashMap<>();

    Residuals(Schema schema, Expression filter, boolean hasStatistics) {
      this.schema = SchemaParser.toJson(schema);
      this.filter = filter;
      this.hasStatistics = hasStatistics;
    }

    FileScanTask of(FileScanTask task) {
      int spec = task.spec().specId();
      DataFile file = hasStatistics ? task.file() : task.file().copyWithoutStats();
      List<DeleteFile> deletes = new ArrayList<>();
      task.deletes().forEach(each -> deletes.add(each.copyWithoutStats()));
      return new BaseFileScanTask(
          file,
          deletes.toArray(DeleteFile[]::new),
          schema,
          specs.computeIfAbsent(spec, id -> PartitionSpecParser.toJson(task.spec())),
          evaluators.computeIfAbsent(spec, id -> ResidualEvaluator.of(task.spec(), filter, true)));
    }
  }
}
