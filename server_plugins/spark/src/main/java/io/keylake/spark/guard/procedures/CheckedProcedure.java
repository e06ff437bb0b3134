package io.keylake.spark.guard.procedures;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Need;
import io.keylake.spark.access.Right;
import io.keylake.spark.access.ServerWork;
import io.keylake.spark.catalog.AroundProcedure;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.engine.ClassicSession;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.connector.catalog.procedures.BoundProcedure;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.connector.read.Scan;
import org.jspecify.annotations.Nullable;

/**
 * A procedure that asks the access policy before it does anything, and has its right then.
 *
 * @param above the namespace in which the procedure looks for a table whose name has one part
 */
public record CheckedProcedure(KeyedCatalog catalog, List<String> above) {
  private static final List<String> TABLES = List.of("table", "source_table");

  /** Arguments with paths, or with a view of paths. */
  private static final List<String> PLACES =
      List.of("location", "file_list_view", "path", "staging_location", "copy", "target");

  /** The same procedure, with that before each of its calls where there is a policy. */
  public UnboundProcedure of(UnboundProcedure procedure) {
    return AccessControl.ofServer() == null
        ? procedure
        : new AroundProcedure(procedure, this::call);
  }

  private Iterator<Scan> call(BoundProcedure bound, InternalRow input) {
    List<String> tables =
        new ArrayList<>(
            TABLES.stream().flatMap(name -> full(bound, input, name).stream()).toList());
    if (tables.isEmpty()) {
      tables.add(catalog.name() + ".*");
    }
    if (PLACES.stream().anyMatch(name -> AroundProcedure.text(bound, input, name) != null)) {
      String subject = "a place that CALL %s names".formatted(bound.name());
      AccessControl.requireOfThread(Need.ofServer(Right.FILES, subject));
    }
    full(bound, input, "like").forEach(like -> AccessControl.requireSeen(like, "CREATE LIKE it"));
    if (isQuestion(bound, input)) {
      tables.forEach(table -> AccessControl.requireSeen(table, "CALL " + bound.name()));
    } else {
      ProcedureRights.check(bound.name(), tables, branch(bound, input), full(bound, input, "into"));
    }
    return ServerWork.run(() -> bound.call(input));
  }

  /** The call asks for a policy of maintenance, and sets none. */
  private static boolean isQuestion(BoundProcedure bound, InternalRow input) {
    return bound.name().endsWith("_policy") && AroundProcedure.text(bound, input, "policy") == null;
  }

  /** The full name of the table that an argument names; none where it names none. */
  private List<String> full(BoundProcedure bound, InternalRow input, String argument) {
    String name = AroundProcedure.text(bound, input, argument);
    if (name == null) {
      return List.of();
    }
    List<String> parts = new ArrayList<>(ClassicSession.active().nameParts(name));
    if (parts.size() == 1) {
      parts.addAll(0, above);
    }
    return List.of(catalog.name() + "." + String.join(".", catalog.withoutName(parts)));
  }

  /** The branch that a call is about: main where it may name one and does not. */
  private static @Nullable String branch(BoundProcedure bound, InternalRow input) {
    String branch = AroundProcedure.text(bound, input, "branch");
    boolean mayNameOne =
        Arrays.stream(bound.parameters()).anyMatch(each -> each.name().equals("branch"));
    return branch == null && mayNameOne ? Need.MAIN : branch;
  }
}
