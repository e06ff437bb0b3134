package io.keylake.tables.branches;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.buckets.BucketChange;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import java.util.List;
import java.util.stream.StreamSupport;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.junit.jupiter.api.Test;

/** A part of an overwrite that is made again says what that part has replaced, and no more. */
class PartialCopyTest {
  private static final Expression FIRST_DAY = Expressions.equal("day", "2026-01-01");
  private static final Expression SECOND_DAY = Expressions.equal("day", "2026-01-02");

  private final Table table = MemoryTables.partitioned().loadTable(MemoryTables.NAME);

  private DataFile file(String name) {
    return MemoryTables.dayFile(table, name);
  }

  private void make(Change change) {
    new Commits(table).make(change);
    table.refresh();
  }

  private void pick(Expression where) {
    long draft = new CommitLog(table, "draft").headId();
    CommitRange range = CommitRange.of(table, table.snapshot(draft).parentId(), draft);
    CherryPick.of(table, null, range, where, where.toString()).run();
    table.refresh();
  }

  private String replaces() {
    return table.currentSnapshot().summary().get(WriteSummary.REPLACES);
  }

  private List<String> files() {
    return StreamSupport.stream(table.newScan().planFiles().spliterator(), false)
        .map(task -> task.file().location())
        .sorted()
        .toList();
  }

  @Test
  void alsoWhereColumnsAndPartitionsHaveChangedSince() {
    make(new Append(null, List.of(file("1a"), file("2a")), WriteSummaries.of("upsert")));
    table.manageSnapshots().createBranch("draft").commit();
    make(
        new Overwrite(
            "draft",
            Expressions.alwaysTrue(),
            List.of(file("1b"), file("2b")),
            WriteSummaries.of("overwrite")));
    table.updateSchema().updateColumnDoc("spend", "in euro").commit(); // another schema
    BucketChange.make(table, 2 * buckets());
    table.refresh();
    make(new Append(null, List.of(file("1c"), file("2c")), WriteSummaries.of("upsert")));
    pick(FIRST_DAY);
    assertEquals(List.of("1b", "2a", "2c"), files());
    assertEquals(Overwrite.json(table, FIRST_DAY), replaces());
    pick(SECOND_DAY);
    assertEquals(List.of("1b", "2b"), files());
    pickedWhole();
  }

  /** The rest of it, where a part came before. */
  private void pickedWhole() {
    make(
        new Overwrite(
            "draft",
            Expressions.alwaysTrue(),
            List.of(file("1d"), file("2d")),
            WriteSummaries.of("overwrite")));
    pick(FIRST_DAY);
    pick(Expressions.alwaysTrue());
    assertEquals(List.of("1d", "2d"), files());
    assertEquals(
        Overwrite.json(table, Expressions.not(FIRST_DAY)), replaces(), "not all of it once more");
  }

  private int buckets() {
    return KeyedSchema.of(table).spec().buckets();
  }
}
