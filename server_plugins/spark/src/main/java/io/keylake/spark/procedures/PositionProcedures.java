package io.keylake.spark.procedures;

import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.Positions.Kind;
import io.keylake.tables.history.TableLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The procedures about the positions of consumers of a change feed and of triggers, and about the
 * log of a table, which has a position, too.
 */
final class PositionProcedures {
  /** The position of a consumer or a trigger. */
  private record PositionRow(String name, @Nullable Long position) {}

  /**
   * The log of a table.
   *
   * @param definition null where it has none
   * @param schema of the table, with the ids by which entries name columns
   * @param nextOffset the first entry that main has not
   * @param gapEnd the entry from which main has entries again; null for nowhere
   * @param movedBefore the entry before which all were moved, though some may be taken back
   */
  private record LogRow(
      @Nullable String definition,
      String location,
      String tableUuid,
      String schema,
      long nextOffset,
      @Nullable Long gapEnd,
      long movedBefore) {
    static LogRow of(Table table) {
      Optional<TableLog> log = TableLog.of(table);
      String source = log.map(TableLog::source).orElse("");
      return new LogRow(
          log.map(TableLog::json).orElse(null),
          table.location(),
          table.uuid().toString(),
          SchemaParser.toJson(table.schema()),
          SourceOffsets.next(table, null).getOrDefault(source, 0L),
          SourceOffsets.gapEnd(table, source),
          SourceOffsets.past(table, source));
    }
  }

  private final TableArgument tables;

  PositionProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        positions("consumers", Kind.CONSUMER),
        positions("triggers", Kind.TRIGGER),
        move("move_consumer", Kind.CONSUMER),
        move("move_trigger", Kind.TRIGGER),
        LocalProcedure.of(
            "log",
            List.of(LocalProcedure.required("table")),
            LogRow.class,
            arguments -> List.of(LogRow.of(tables.load(arguments)))),
        LocalProcedure.of(
            "set_log",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("definition")),
            LogRow.class,
            this::setLog));
  }

  private List<LogRow> setLog(LocalProcedure.Arguments arguments) {
    Table table = tables.load(arguments);
    String definition = arguments.text("definition");
    if (definition == null) {
      TableLog.end(table);
    } else {
      TableLog.fromJson(definition).begin(table);
    }
    table.refresh();
    return List.of(LogRow.of(table));
  }

  private LocalProcedure positions(String name, Kind kind) {
    return LocalProcedure.of(
        name,
        List.of(LocalProcedure.required("table")),
        PositionRow.class,
        arguments -> {
          List<PositionRow> rows = new ArrayList<>();
          new Positions(tables.load(arguments), kind)
              .all()
              .forEach((reader, at) -> rows.add(new PositionRow(reader, at)));
          return rows;
        });
  }

  private LocalProcedure move(String name, Kind kind) {
    return LocalProcedure.of(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.required("name"),
            LocalProcedure.optionalNumber("from_position"),
            LocalProcedure.optionalNumber("to_position")),
        PositionRow.class,
        arguments -> {
          String who = arguments.requiredText("name");
          Long to = arguments.number("to_position");
          new Positions(tables.load(arguments), kind)
              .move(who, arguments.number("from_position"), to);
          return List.of(new PositionRow(who, to));
        });
  }
}
