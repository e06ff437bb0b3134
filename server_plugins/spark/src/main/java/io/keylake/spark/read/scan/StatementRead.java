package io.keylake.spark.read.scan;

import io.keylake.tables.isolation.Isolation;
import io.keylake.tables.isolation.Isolation.MainRead;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.IsolationLevel;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.jspecify.annotations.Nullable;

/**
 * The read of one statement of the table that it changes. Its scans run before its commit, and each
 * says here which rows it looks at.
 */
public final class StatementRead {
  private final String property;
  private final IsolationLevel level;
  private final @Nullable Long snapshotId;
  private final @Nullable MainRead main;
  private final Original original;
  private final List<PushedFilters> scans = new ArrayList<>();

  /**
   * The statement as it was written, before a name in it was resolved.
   *
   * @param plan with all that stands around it, such as WITH; null where it is not known
   * @param hindrance why it is not run again; null where nothing speaks against it
   */
  public record Original(@Nullable LogicalPlan plan, @Nullable String hindrance) {}

  /**
   * @param property that states the level
   * @param snapshotId that is read; null where the branch has no commit
   * @param main what is read of main beside that; null for nothing
   */
  public StatementRead(
      String property,
      IsolationLevel level,
      @Nullable Long snapshotId,
      @Nullable MainRead main,
      Original original) {
    this.property = property;
    this.level = level;
    this.snapshotId = snapshotId;
    this.main = main;
    this.original = original;
  }

  public Original original() {
    return original;
  }

  synchronized void looksAt(PushedFilters filters) {
    scans.add(filters);
  }

  /** The commits with which the statement conflicts. */
  public Isolation isolation(KeyedSchema schema) {
    return new Isolation(
        schema, property, level, snapshotId, main, counts -> lookedAt(schema, counts));
  }

  private synchronized Expression lookedAt(KeyedSchema schema, Set<Integer> counts) {
    return scans.stream()
        .map(filters -> filters.fileFilter(schema, counts))
        .reduce(Expressions.alwaysFalse(), Expressions::or);
  }
}
