package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.spark.metadata.MetadataTable;
import io.keylake.spark.metadata.Part;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.planning.Extent;
import io.keylake.tables.repair.FileChange;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.jspecify.annotations.Nullable;

/** Files that are dropped, moved and restored as a whole, chosen by what their metadata says. */
final class FileProcedures {
  private static final int MOST_ATTEMPTS = 10;

  /** The files that a change concerns; no snapshot where it was only planned. */
  private record ChangedRow(
      @Nullable Long snapshotId,
      long files,
      long rows,
      long bytes,
      long buckets,
      List<String> columns) {}

  private final TableArgument tables;

  FileProcedures(TableArgument tables) {
    this.tables = tables;
  }

  /** Plans a change of the files at some locations. */
  private interface Verb {
    FileChange planned(Table table, Arguments arguments, Set<String> locations);
  }

  List<LocalProcedure> all() {
    Verb drop = (table, with, locations) -> FileChange.drop(table, branch(with), locations);
    Verb move =
        (table, with, locations) -> FileChange.move(table, branch(with), locations, to(with));
    Verb restore =
        (table, with, locations) ->
            FileChange.restore(table, branch(with), locations, with.requiredNumber("at"));
    return Stream.of(
            both("drop_files", null, drop),
            both("move_files", LocalProcedure.required("to"), move),
            both("restore_files", LocalProcedure.requiredNumber("at"), restore))
        .flatMap(List::stream)
        .toList();
  }

  private static @Nullable String branch(Arguments arguments) {
    return arguments.text("branch");
  }

  private static @Nullable String to(Arguments arguments) {
    return arguments.text("to");
  }

  /** The procedure, and its twin that only tells. */
  private List<LocalProcedure> both(String name, @Nullable ProcedureParameter own, Verb verb) {
    List<ProcedureParameter> in = new ArrayList<>();
    in.add(LocalProcedure.required("table"));
    in.add(LocalProcedure.required("where"));
    if (own != null) {
      in.add(own);
    }
    in.add(LocalProcedure.optional("branch"));
    return List.of(
        LocalProcedure.of(name, in, ChangedRow.class, arguments -> List.of(run(arguments, verb))),
        LocalProcedure.of(
            name + "_plan",
            in,
            ChangedRow.class,
            arguments -> List.of(row(null, planned(tables.load(arguments), arguments, verb)))));
  }

  private ChangedRow run(Arguments arguments, Verb verb) {
    Table table = tables.load(arguments);
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
      FileChange change = planned(table, arguments, verb);
      if (change.commit()) {
        return row(new CommitLog(table, branch(arguments)).headId(), change);
      }
    }
    throw new KeylakeException(
        COMMIT_CONFLICT,
        "the change of files of %s lost against other commits %d times; try again when there are fewer of them"
            .formatted(table.name(), MOST_ATTEMPTS));
  }

  private FileChange planned(Table table, Arguments arguments, Verb verb) {
    table.refresh();
    Long snapshotId = new CommitLog(table, branch(arguments)).headId();
    if (arguments.has("at")) {
      long at = arguments.requiredNumber("at");
      CommitRange.of(table, at, at); // it has to be there
      snapshotId = at;
    }
    Set<String> locations =
        snapshotId == null
            ? Set.of()
            : matching(tables.identifier(arguments), snapshotId, arguments.requiredText("where"));
    FileChange change = verb.planned(table, arguments, locations);
    if (change.isEmpty()) {
      String sentence =
          locations.isEmpty()
              ? "no file of %s matches %s; nothing was changed"
              : "every file of %s that matches %s is there; nothing was changed";
      throw new KeylakeException(
          NOT_FOUND, sentence.formatted(table.name(), arguments.text("where")));
    }
    return change;
  }

  /** The locations of the files of a snapshot for which a condition holds. */
  private Set<String> matching(TableIdentifier ident, long snapshotId, String where) {
    String files = tables.inSql(ident) + "." + Part.KEYED_FILES.table();
    try {
      return new HashSet<>(
          SparkSession.active()
              .read()
              .option(MetadataTable.SNAPSHOT, snapshotId)
              .table(files)
              .where(where)
              .select("path")
              .as(Encoders.STRING())
              .collectAsList());
    } catch (Exception e) {
      if (e instanceof SparkThrowable refused) {
        throw unclear(where, refused);
      }
      throw e;
    }
  }

  private static KeylakeException unclear(String where, SparkThrowable refused) {
    String condition = String.valueOf(refused.getCondition());
    boolean isColumn =
        condition.startsWith("UNRESOLVED_COLUMN") || condition.startsWith("FIELD_NOT_FOUND");
    String said =
        String.valueOf(((Throwable) refused).getMessage())
            .lines()
            .filter(line -> !line.isBlank())
            .findFirst()
            .orElse("");
    return new KeylakeException(
        isColumn ? SCHEMA_MISMATCH : DEFINITION,
        "where => %s is no condition on the columns of %s (%s); nothing was changed"
            .formatted(
                where,
                Part.KEYED_FILES.table(),
                said.replaceFirst("^\\[[A-Z0-9_.]+\\] ", "").replaceFirst(" SQLSTATE: .*", "")));
  }

  private static ChangedRow row(@Nullable Long snapshotId, FileChange change) {
    Extent extent = change.extent();
    return new ChangedRow(
        snapshotId,
        extent.files(),
        extent.rows(),
        extent.bytes(),
        change.buckets(),
        extent.columns());
  }
}
