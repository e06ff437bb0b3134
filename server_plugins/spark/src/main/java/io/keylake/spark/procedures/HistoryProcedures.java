package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.catalog.ListedTable;
import io.keylake.spark.metadata.CommitRow;
import io.keylake.spark.notices.NewCommits;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.PointInTime;
import io.keylake.tables.history.Watermarks;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/**
 * Archived states by their business times, commits by their watermarks and as they come, and
 * offsets of sources.
 */
final class HistoryProcedures {
  private static final int MOST_SECONDS_OF_A_WAIT = 60;

  /** An archived state of a table. */
  private record StateRow(
      String table,
      Instant businessTime,
      String branch,
      long snapshotId,
      Instant committedAt,
      long lateWrites) {}

  /** The watermark of a stream, and the one that its first commit said. */
  private record WatermarkRow(
      @Nullable String stream, Instant watermark, @Nullable Instant first) {}

  /** The branch of an archived state. */
  private record BranchRow(String branch) {}

  /** The first offset of a source that the branch has not. */
  private record OffsetRow(String source, long nextOffset) {}

  /** The commit that a watermark asks for. */
  private record CommitAtRow(long snapshotId) {}

  private final TableArgument tables;
  private final KeyedCatalog catalog;

  HistoryProcedures(TableArgument tables) {
    this.tables = tables;
    this.catalog = tables.catalog();
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "archive",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("business_time"),
                LocalProcedure.optionalNumber("every_seconds")),
            StateRow.class,
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
        LocalProcedure.of(
            "history_branches",
            List.of(LocalProcedure.optional("table")),
            StateRow.class,
            this::states),
        LocalProcedure.of(
            "history_branch",
            List.of(LocalProcedure.required("table"), LocalProcedure.required("business_time")),
            BranchRow.class,
            arguments ->
                List.of(
                    new BranchRow(
                        new HistoryBranches(tables.load(arguments))
                            .at(time(arguments, "business_time"))
                            .branch()))),
        LocalProcedure.of(
            "wait_for_commits",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.requiredNumber("after"),
                LocalProcedure.optional("branch"),
                ProcedureParameter.in("seconds", DataTypes.DoubleType).defaultValue("10").build(),
                ProcedureParameter.in("compactions", DataTypes.BooleanType)
                    .defaultValue("false")
                    .build()),
            CommitRow.class,
            this::awaited),
        LocalProcedure.of(
            "watermarks",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            WatermarkRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              Long head = new CommitLog(table, arguments.text("branch")).headId();
              Map<String, Long> first = Watermarks.firstOfEach(table, head);
              List<WatermarkRow> rows = new ArrayList<>();
              Watermarks.of(table, head)
                  .byStream()
                  .forEach(
                      (stream, micros) ->
                          rows.add(
                              new WatermarkRow(
                                  stream,
                                  PointInTime.ofMicros(micros),
                                  first.containsKey(stream)
                                      ? PointInTime.ofMicros(first.get(stream))
                                      : null)));
              return rows;
            }),
        LocalProcedure.of(
            "offsets",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            OffsetRow.class,
            arguments ->
                SourceOffsets.next(tables.load(arguments), arguments.text("branch"))
                    .entrySet()
                    .stream()
                    .map(each -> new OffsetRow(each.getKey(), each.getValue()))
                    .toList()),
        LocalProcedure.of(
            "commit_at_watermark",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("watermark"),
                LocalProcedure.optional("stream"),
                LocalProcedure.optional("branch")),
            CommitAtRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              Long head = new CommitLog(table, arguments.text("branch")).headId();
              return List.of(
                  new CommitAtRow(
                      Watermarks.first(
                              table,
                              head,
                              PointInTime.micros(time(arguments, "watermark")),
                              arguments.text("stream"))
                          .snapshotId()));
            }));
  }

  /** The commits that come to a branch, once there are some, or none when the time has passed. */
  private List<CommitRow> awaited(LocalProcedure.Arguments arguments) {
    double seconds = arguments.requiredDecimal("seconds");
    if (!(seconds >= 0 && seconds <= MOST_SECONDS_OF_A_WAIT)) {
      throw new KeylakeException(
          DEFINITION,
          "seconds => %s is no time to wait; give 0 to %d, and call again to wait for longer"
              .formatted(seconds, MOST_SECONDS_OF_A_WAIT));
    }
    NewCommits.Place place =
        new NewCommits.Place(catalog.icebergCatalog(), tables.identifier(arguments));
    return new NewCommits(place, () -> tables.load(arguments), arguments.text("branch"))
            .await(
                arguments.requiredNumber("after"),
                arguments.isSet("compactions"),
                Duration.ofNanos((long) (seconds * 1e9)))
            .stream()
            .map(CommitRow::of)
            .toList();
  }

  private static Instant time(LocalProcedure.Arguments arguments, String name) {
    return PointInTime.of(name, arguments.requiredText(name));
  }

  /** The archived states of one table, or of all. */
  private List<StateRow> states(LocalProcedure.Arguments arguments) {
    List<StateRow> rows = new ArrayList<>();
    if (arguments.text("table") != null) {
      add(rows, tables.identifier(arguments), tables.load(arguments));
    } else {
      ListedTable.all(catalog)
          .filter(each -> each.problem() == null)
          .forEach(each -> add(rows, each.name(), Objects.requireNonNull(each.table())));
    }
    return rows;
  }

  private static void add(List<StateRow> rows, TableIdentifier ident, Table table) {
    new HistoryBranches(table).all().forEach(state -> rows.add(row(ident, table, state)));
  }

  private static StateRow row(TableIdentifier ident, Table table, HistoryBranches.State state) {
    return new StateRow(
        TableArgument.quoted(ident),
        state.time(),
        state.branch(),
        state.snapshotId(),
        Instant.ofEpochMilli(table.snapshot(state.snapshotId()).timestampMillis()),
        new HistoryBranches(table).lateWrites(state));
  }
}
