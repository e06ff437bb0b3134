package io.keylake.spark.procedures;

import io.keylake.tables.CommitLog;
import io.keylake.tables.CommitRange;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.Positions;
import io.keylake.tables.Positions.Kind;
import java.util.ArrayList;
import java.util.List;
import org.apache.iceberg.Table;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/** How far consumers of a change feed and triggers have come. */
final class PositionProcedures {
  private static final StructType POSITION =
      new StructType().add("name", DataTypes.StringType).add("position", DataTypes.LongType);

  private static final StructType CONSUMER =
      new StructType()
          .add("name", DataTypes.StringType)
          .add("snapshot_id", DataTypes.LongType)
          .add("committed_at", DataTypes.TimestampType)
          .add("commits_behind", DataTypes.LongType);

  private final TableArgument tables;

  PositionProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        new LocalProcedure(
            "consumers",
            List.of(LocalProcedure.required("table"), LocalProcedure.optional("branch")),
            CONSUMER,
            this::consumers),
        new LocalProcedure(
            "triggers",
            List.of(LocalProcedure.required("table")),
            POSITION,
            arguments -> {
              List<InternalRow> rows = new ArrayList<>();
              new Positions(tables.load(arguments), Kind.TRIGGER)
                  .all()
                  .forEach((name, at) -> rows.add(LocalProcedure.row(name, at)));
              return rows;
            }),
        move("move_consumer", Kind.CONSUMER),
        move("move_trigger", Kind.TRIGGER));
  }

  private List<InternalRow> consumers(LocalProcedure.Arguments arguments) {
    Table table = tables.load(arguments);
    Long head = new CommitLog(table, arguments.text("branch")).headId();
    List<InternalRow> rows = new ArrayList<>();
    new Positions(table, Kind.CONSUMER)
        .all()
        .forEach(
            (name, at) -> {
              Long committedAt =
                  table.snapshot(at) == null ? null : table.snapshot(at).timestampMillis() * 1000;
              rows.add(LocalProcedure.row(name, at, committedAt, behind(table, at, head)));
            });
    return rows;
  }

  /** Null where the position is not on the branch, or has expired. */
  private static Long behind(Table table, long at, Long head) {
    try {
      return head == null ? 0L : (long) CommitRange.of(table, at, head).commits().size();
    } catch (KeylakeException e) {
      return null;
    }
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
          Long to = arguments.number("to_position");
          new Positions(tables.load(arguments), kind)
              .move(arguments.text("name"), arguments.number("from_position"), to);
          return List.of(LocalProcedure.row(arguments.text("name"), to));
        });
  }
}
