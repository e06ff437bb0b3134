package io.keylake.spark.procedures;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** Archived states by their business times, commits by their watermarks, and offsets of sources. */
final class HistoryProcedures {
  private static final StructType STATE =
      new StructType()
          .add("table", DataTypes.StringType)
          .add("business_time", DataTypes.TimestampType)
          .add("branch", DataTypes.StringType)
          .add("snapshot_id", DataTypes.LongType)
          .add("committed_at", DataTypes.TimestampType)
          .add("late_writes", DataTypes.LongType);

  private static final StructType WATERMARK =
      new StructType()
          .add("stream", DataTypes.StringType)
          .add("watermark", DataTypes.TimestampType)
          .add("first", DataTypes.TimestampType);

  private final TableArgument tables;
  private final KeyedCatalog catalog;

  HistoryProcedures(TableArgument tables) {
    this.tables = tables;
    this.catalog = tables.catalog();
  }

  List<LocalProcedure> all() {
    return List.of(
        new LocalProcedure(
            "archive",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("business_time"),
                LocalProcedure.optionalNumber("every_seconds")),
            STATE,
            arguments -> {
              Table table = tables.load(arguments);
              Long seconds = arguments.number("every_seconds");
              List<HistoryBranches.State> made =
                  new HistoryBranches(table)
                      .archive(
                          time(arguments, "business_time"),
                          seconds == null ? null : Duration.ofSeconds(seconds));
              return made.stream()
                  .map(state -> row(tables.identifier(arguments), table, state))
                  .toList();
            }),
        new LocalProcedure(
            "history_branches", List.of(LocalProcedure.optional("table")), STATE, this::states),
        new LocalProcedure(
            "history_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("business_time")),
            new StructType().add("branch", DataTypes.StringType),
            arguments ->
                List.of(
                    LocalProcedure.row(
                        new HistoryBranches(tables.load(arguments))
                            .at(time(arguments, "business_time"))
                            .branch()))),
        new LocalProcedure(
            "watermarks",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            WATERMARK,
            arguments -> {
              Table table = tables.load(arguments);
              Long head = new CommitLog(table, arguments.text("branch")).headId();
              Map<String, Long> first = Watermarks.firstOfEach(table, head);
              List<InternalRow> rows = new ArrayList<>();
              Watermarks.of(table, head)
                  .byStream()
                  .forEach(
                      (stream, micros) ->
                          rows.add(LocalProcedure.row(stream, micros, first.get(stream))));
              return rows;
            }),
        new LocalProcedure(
            "offsets",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            new StructType()
                .add("source", DataTypes.StringType)
                .add("next_offset", DataTypes.LongType),
            arguments ->
                SourceOffsets.next(tables.load(arguments), arguments.text("branch"))
                    .entrySet()
                    .stream()
                    .map(each -> LocalProcedure.row(each.getKey(), each.getValue()))
                    .toList()),
        new LocalProcedure(
            "commit_at_watermark",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("watermark"),
                LocalProcedure.optional("stream"),
                LocalProcedure.optional("branch")),
            new StructType().add("snapshot_id", DataTypes.LongType),
            arguments -> {
              Table table = tables.load(arguments);
              Long head = new CommitLog(table, arguments.text("branch")).headId();
              return List.of(
                  LocalProcedure.row(
                      Watermarks.first(
                              table,
                              head,
                              PointInTime.micros(time(arguments, "watermark")),
                              arguments.text("stream"))
                          .snapshotId()));
            }));
  }

  private static Instant time(LocalProcedure.Arguments arguments, String name) {
    return PointInTime.of(name, arguments.requiredText(name));
  }

  /** The archived states of one table, or of all. */
  private List<InternalRow> states(LocalProcedure.Arguments arguments) {
    List<InternalRow> rows = new ArrayList<>();
    if (arguments.text("table") != null) {
      add(rows, tables.identifier(arguments), tables.load(arguments));
    } else {
      for (TableIdentifier ident : catalog.tablesBelow()) {
        Table table = catalog.icebergCatalog().loadTable(ident);
        if (KeyedSchema.isKeyed(table)) {
          add(rows, ident, table);
        }
      }
    }
    return rows;
  }

  private static void add(List<InternalRow> rows, TableIdentifier ident, Table table) {
    new HistoryBranches(table).all().forEach(state -> rows.add(row(ident, table, state)));
  }

  private static InternalRow row(TableIdentifier ident, Table table, HistoryBranches.State state) {
    return LocalProcedure.row(
        TableArgument.quoted(ident),
        PointInTime.micros(state.time()),
        state.branch(),
        state.snapshotId(),
        table.snapshot(state.snapshotId()).timestampMillis() * 1000,
        (long) new HistoryBranches(table).lateWrites(state));
  }
}
