package io.keylake.spark.guard.plans;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Narrowing;
import io.keylake.spark.plans.LogicalNode;
import java.util.Arrays;
import java.util.List;
import org.apache.spark.sql.catalyst.expressions.Attribute;
import org.apache.spark.sql.catalyst.expressions.AttributeSet;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.jspecify.annotations.Nullable;
import scala.collection.immutable.Seq;
import scala.jdk.javaapi.CollectionConverters;

/**
 * The part of a table that its reader may see. The optimizer moves no expression of a query below
 * it, where an expression could meet hidden values and tell of them by its failure. It is public
 * because Spark copies plans by their constructors.
 */
public final class SecuredRows extends LogicalNode {
  private static final long serialVersionUID = 1L;
  private final LogicalPlan rows;
  private final String principal;
  private final String table;
  private final @Nullable String branch;
  private final Narrowing narrowing;
  private final List<String> hidden;

  /**
   * @param principal for whom the rows were chosen: of another they say nothing
   * @param narrowing by which they were chosen: after a change of the policy it may be another
   * @param hidden the names of columns that nobody may have a use for
   */
  public SecuredRows(
      LogicalPlan rows,
      String principal,
      String table,
      @Nullable String branch,
      Narrowing narrowing,
      List<String> hidden) {
    this.rows = rows;
    this.principal = principal;
    this.table = table;
    this.branch = branch;
    this.narrowing = narrowing;
    this.hidden = List.copyOf(hidden);
  }

  /** Refuses a query that has a use for a hidden column, once unused columns are gone. */
  void checkUsed() {
    for (Attribute used : CollectionConverters.asJava(output())) {
      if (hidden.contains(used.name())) {
        boolean isMasked = narrowing.mask(used.name()) != null && !narrowing.hides(used.name());
        String sentence =
            isMasked
                ? "%s may not use column '%s' of %s in a statement that changes the table, because the access policy masks it; leave the column out"
                : "%s may not read column '%s' of %s, which the access policy hides; name the other columns, in the place of * too";
        throw AccessControl.refusal(sentence.formatted(principal, used.name(), table));
      }
    }
  }

  /** One of the columns is hidden. */
  boolean isHidden(AttributeSet columns) {
    return CollectionConverters.asJava(columns.toSeq()).stream()
        .anyMatch(column -> hidden.contains(column.name()));
  }

  LogicalPlan rows() {
    return rows;
  }

  String principal() {
    return principal;
  }

  String table() {
    return table;
  }

  @Nullable String branch() {
    return branch;
  }

  Narrowing narrowing() {
    return narrowing;
  }

  @Override
  public Seq<Attribute> output() {
    return rows.output();
  }

  @Override
  public String simpleString(int maxFields) {
    return nodeName();
  }

  @Override
  protected List<? extends @Nullable Object> parts() {
    return Arrays.asList(rows, principal, table, branch, narrowing, hidden);
  }

  @Override
  protected List<LogicalPlan> inputs() {
    return List.of(rows);
  }

  @Override
  protected LogicalPlan over(List<LogicalPlan> inputs) {
    return new SecuredRows(inputs.get(0), principal, table, branch, narrowing, hidden);
  }
}
