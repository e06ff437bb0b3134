package io.keylake.spark.access;

import io.keylake.tables.spec.Reducer;
import java.util.Set;

/** The right to name code of users in the definition of a table, which all its readers run. */
public final class CodeRights {
  private static final Set<Reducer.Kind> OF_USERS = Set.of(Reducer.Kind.OWN, Reducer.Kind.PYTHON);

  private CodeRights() {}

  /** Refuses a reducer of users to the session of this thread where no rule allows it. */
  public static void check(Reducer reducer, String table) {
    if (OF_USERS.contains(reducer.kind())) {
      AccessControl.requireOfThread(
          Need.of(Right.REGISTER_CODE, table, "reducer " + reducer.kind()));
    }
  }
}
