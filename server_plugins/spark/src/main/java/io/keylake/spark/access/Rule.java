package io.keylake.spark.access;

import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A rule of a policy.
 *
 * @param who names of principals
 * @param narrowing of what the rights to read and to write are for
 */
record Rule(
    Set<String> who,
    List<Pattern> tables,
    List<Pattern> branches,
    Set<Right> may,
    Narrowing narrowing) {
  Rule {
    who = Set.copyOf(who);
    tables = List.copyOf(tables);
    branches = List.copyOf(branches);
    may = Set.copyOf(may);
  }

  boolean gives(String principal, Right right) {
    return who.contains(principal) && may.contains(right);
  }

  boolean concernsTables() {
    return may.stream().anyMatch(right -> !right.isOfServer());
  }

  boolean isOf(String table) {
    return tables.stream().anyMatch(pattern -> pattern.matches(table));
  }

  /**
   * The rule is for the branch.
   *
   * @param branch null for any, of which a rule for some branches gives nothing
   */
  boolean isOfBranch(@Nullable String branch) {
    return branches.stream()
        .anyMatch(pattern -> pattern.isAll() || (branch != null && pattern.matches(branch)));
  }

  /** The rows and columns of the rule are those that are needed, or more. */
  boolean isWideEnough(Need need) {
    return !need.isWhole() && need.columns().stream().noneMatch(narrowing::changes)
        || narrowing.isNone();
  }
}
