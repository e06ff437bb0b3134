package io.keylake.spark.procedures;

import io.keylake.tables.history.Positions;
import io.keylake.tables.history.Positions.Kind;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** The procedures about the positions of consumers of a change feed and of triggers. */
final class PositionProcedures {
  /** The position of a consumer or a trigger. */
  private record PositionRow(String name, @Nullable Long position) {}

  private final TableArgument tables;

  PositionProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        positions("consumers", Kind.CONSUMER),
        positions("triggers", Kind.TRIGGER),
        move("move_consumer", Kind.CONSUMER),
        move("move_trigger", Kind.TRIGGER));
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
