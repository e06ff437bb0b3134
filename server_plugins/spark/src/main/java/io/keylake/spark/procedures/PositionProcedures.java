package io.keylake.spark.procedures;

import io.keylake.tables.history.Positions;
import io.keylake.tables.history.Positions.Kind;
import java.util.ArrayList;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** The procedures about the positions of consumers of a change feed and of triggers. */
final class PositionProcedures {
  private static final StructType POSITION =
      new StructType().add("name", DataTypes.StringType).add("position", DataTypes.LongType);

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
    return new LocalProcedure(
        name,
        List.of(LocalProcedure.required("table")),
        POSITION,
        arguments -> {
          List<InternalRow> rows = new ArrayList<>();
          new Positions(tables.load(arguments), kind)
              .all()
              .forEach((reader, at) -> rows.add(LocalProcedure.row(reader, at)));
          return rows;
        });
  }

  private LocalProcedure move(String name, Kind kind) {
    return new LocalProcedure(
        name,
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.required("name"),
            LocalProcedure.optionalNumber("from_position"),
            LocalProcedure.optionalNumber("to_position")),
        POSITION,
        arguments -> {
          String who = arguments.requiredText("name");
          Long to = arguments.number("to_position");
          new Positions(tables.load(arguments), kind)
              .move(who, arguments.number("from_position"), to);
          return List.of(LocalProcedure.row(who, to));
        });
  }
}
