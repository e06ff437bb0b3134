package io.keylake.spark.write;

import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.isolation.Isolation;
import io.keylake.tables.isolation.StatementWrite;
import io.keylake.tables.lateness.Lateness;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.spec.ColumnNames;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import java.time.Instant;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.jspecify.annotations.Nullable;

/** The effect of a write on its branch, with the files that it has written. */
sealed interface Effect {

  /**
   * @param names that columns have now; what the write states has those of its plan
   */
  Change change(
      @Nullable String branch, List<DataFile> files, WriteSummary summary, ColumnNames names);

  /** Selects the partitions that the rows may lie in. */
  default Expression stated() {
    return Expressions.alwaysTrue();
  }

  /**
   * The version below which rows are late. Of rows that replace others none is, none of an
   * experiment, whose files have an order of their own, and none of the quarantine: a release
   * counts as a write at that moment.
   */
  default @Nullable Long lateBelow(Table table, KeyedSchema schema, @Nullable String branch) {
    boolean adds = this instanceof Adds || this instanceof AddsToRead;
    boolean isApart =
        Quarantine.BRANCH.equals(branch) || Experiment.ofBranch(table.properties(), branch) != null;
    return adds && !isApart
        ? Lateness.limit(table, schema, new CommitLog(table, branch).headId())
        : null;
  }

  /**
   * Adds the rows to what is there.
   *
   * @param businessTime archived states from that time on get them, too; null for none
   */
  record Adds(@Nullable Instant businessTime) implements Effect {
    @Override
    public Change change(
        @Nullable String branch, List<DataFile> files, WriteSummary summary, ColumnNames names) {
      return businessTime == null
          ? new Append(branch, files, summary)
          : HistoryBranches.lateWrite(files, summary, businessTime);
    }
  }

  /** Adds rows that a statement has made of rows of the same table. */
  record AddsToRead(Supplier<Isolation> isolation) implements Effect {
    @Override
    public Change change(
        @Nullable String branch, List<DataFile> files, WriteSummary summary, ColumnNames names) {
      return new StatementWrite(new Append(branch, files, summary), isolation.get());
    }
  }

  /** Puts the rows in the place of the partitions that a filter selects. */
  record Replaces(Expression stated) implements Effect {
    @Override
    public Change change(
        @Nullable String branch, List<DataFile> files, WriteSummary summary, ColumnNames names) {
      return new Overwrite(branch, names.translated(stated), files, summary);
    }
  }

  /**
   * Puts the rows in the place of the partitions that they lie in: those with the same values of
   * {@code partition_by}, or the whole table where it has none. Without a row, nothing is replaced.
   */
  record ReplacesWritten(List<String> partitionBy) implements Effect {
    @Override
    public Change change(
        @Nullable String branch, List<DataFile> files, WriteSummary summary, ColumnNames names) {
      Set<List<Object>> partitions = new LinkedHashSet<>();
      files.forEach(file -> partitions.add(values(file)));
      Expression replaced = anyOf(partitions.stream().map(this::is).toList());
      return new Overwrite(branch, names.translated(replaced), files, summary);
    }

    private List<Object> values(DataFile file) {
      List<Object> values = new ArrayList<>();
      for (int i = 0; i < partitionBy.size(); i++) {
        Object value = file.partition().get(i, Object.class);
        values.add(value instanceof CharSequence text ? text.toString() : value);
      }
      return values;
    }

    private Expression is(List<Object> values) {
      Expression all = Expressions.alwaysTrue();
      for (int i = 0; i < values.size(); i++) {
        all = Expressions.and(all, Expressions.equal(partitionBy.get(i), values.get(i)));
      }
      return all;
    }

    /** Joins expressions in halves, because what walks them goes as deep as they are. */
    private static Expression anyOf(List<Expression> each) {
      if (each.size() < 2) {
        return each.isEmpty() ? Expressions.alwaysFalse() : each.get(0);
      }
      int half = each.size() / 2;
      return Expressions.or(anyOf(each.subList(0, half)), anyOf(each.subList(half, each.size())));
    }
  }
}
