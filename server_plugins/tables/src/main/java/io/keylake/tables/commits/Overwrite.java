package io.keylake.tables.commits;

import io.keylake.tables.history.WriteSummary;
import java.util.Collections;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Binder;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.ExpressionParser;
import org.jspecify.annotations.Nullable;

/**
 * A write that puts files in the place of everything a filter selects.
 *
 * @param branch null for main
 * @param filter selects whole partitions
 */
public record Overwrite(
    @Nullable String branch, Expression filter, List<DataFile> files, WriteSummary summary)
    implements RowWrite {
  public Overwrite {
    files = List.copyOf(files);
  }

  @Override
  public void addTo(Attempt attempt) {
    OverwriteFiles overwrite = attempt.transaction().newOverwrite().overwriteByRowFilter(filter);
    VersionedWrite write =
        VersionedWrite.of(attempt, Collections.singletonList(branch), files, summary);
    write.files().forEach(overwrite::addFile);
    overwrite.set(WriteSummary.REPLACES, json(attempt.transaction().table(), filter));
    boolean replacesAll = filter.op() == Expression.Operation.TRUE;
    attempt.commit(
        branch,
        overwrite,
        parent -> {
          write.check(parent);
          return CommitSummary.ofWrite(write.summary(), replacesAll, parent);
        });
  }

  /** An expression on columns of a table in Iceberg's JSON, with dates as such. */
  public static String json(Table table, Expression filter) {
    return ExpressionParser.toJson(Binder.bind(table.schema().asStruct(), filter, true));
  }
}
