package io.keylake.spark.access;

import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A right that a request takes.
 *
 * @param table its full name, the catalog first; the words "the server" where the right concerns no
 *     table
 * @param branch null for any
 * @param isWhole true where a rule that narrows what is read does not give it
 * @param columns that are written; empty for whole rows
 * @param subject the statement, the table beside a table, or the procedure, as a sentence calls it
 */
public record Need(
    Right right,
    String table,
    @Nullable String branch,
    boolean isWhole,
    Set<String> columns,
    String subject) {
  public static final String MAIN = "main";

  public Need {
    columns = Set.copyOf(columns);
  }

  /** All branches of a table, all rows, all columns. */
  public static Need of(Right right, String table, String subject) {
    return new Need(right, table, null, true, Set.of(), subject);
  }

  public static Need ofBranch(Right right, String table, @Nullable String branch, String subject) {
    return new Need(right, table, branch, true, Set.of(), subject);
  }

  /** The right of a request that concerns no table: code of users, or files. */
  public static Need ofServer(Right right, String subject) {
    return new Need(right, "the server", null, false, Set.of(), subject);
  }

  /** The same for a read that is narrowed already, or shows no values. */
  public Need narrowable() {
    return new Need(right, table, branch, false, columns, subject);
  }

  /** The same for a write of some columns. */
  public Need ofColumns(Set<String> written) {
    return new Need(right, table, branch, false, written, subject);
  }
}
