package io.keylake.tables.staged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.inmemory.InMemoryCatalog;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.StructType;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class StagingTest {
  private static final TableDefinition SAME =
      TableDefinition.fromJson(CaseFiles.json("spec/partitioned.json").get("spec").toString());
  private static final TableDefinition OTHER =
      new TableDefinition(SAME.spec().withBuckets(7), SAME.columns(), "");

  private InMemoryCatalog catalog;
  private Table table;
  private long before;

  @BeforeEach
  void createTable() {
    catalog = MemoryTables.partitioned();
    table = catalog.loadTable(MemoryTables.NAME);
    append(table, MemoryTables.dayFile(table, "1"));
    before = table.currentSnapshot().snapshotId();
  }

  private static void append(Staging staged, String file) {
    staged.takeRows();
    append(staged.table(), MemoryTables.dayFile(staged.table(), file));
  }

  private static void append(Table to, DataFile... files) {
    new Commits(to).make(new Append(null, List.of(files), WriteSummaries.of("upsert")));
  }

  private Table seen() {
    return catalog.loadTable(MemoryTables.NAME);
  }

  private static Staging replacing(Table table, TableDefinition definition) {
    return Staging.replacing(table, definition, Map.of());
  }

  @Test
  void nobodySeesADraft() {
    Staging staged = replacing(table, OTHER);
    append(staged, "2");
    assertTrue(Staging.isOne(staged.table()));
    assertFalse(Staging.isOne(seen()));
    assertEquals(before, seen().currentSnapshot().snapshotId());
    staged.commit();
    assertEquals(7, KeyedSchema.of(seen()).spec().buckets());
    assertNull(seen().currentSnapshot().parentId());
    assertNotNull(seen().snapshot(before));
  }

  @Test
  void theSameDefinitionIsTheSameTable() {
    StructType columns = table.schema().asStruct();
    replacing(table, SAME).commit();
    assertEquals(before, seen().currentSnapshot().parentId());
    assertEquals(columns, seen().schema().asStruct());
  }

  @Test
  void anotherDefinitionSharesNoColumn() {
    Set<Integer> shared = new HashSet<>(TypeUtil.indexById(table.schema().asStruct()).keySet());
    replacing(table, OTHER).commit();
    shared.retainAll(TypeUtil.indexById(seen().schema().asStruct()).keySet());
    assertEquals(Set.of(), shared);
  }

  @Test
  void whatOthersCommitMeanwhileIsNotLost() {
    for (TableDefinition each : List.of(SAME, OTHER)) {
      Staging staged = replacing(seen(), each);
      append(staged, "2");
      append(seen(), MemoryTables.dayFile(seen(), "3"));
      long head = seen().currentSnapshot().snapshotId();
      KeylakeException refused = assertThrows(KeylakeException.class, staged::commit);
      assertEquals(Kind.COMMIT_CONFLICT, refused.kind());
      staged.discard();
      assertEquals(head, seen().currentSnapshot().snapshotId());
      assertEquals(8, KeyedSchema.of(seen()).spec().buckets());
    }
  }

  @Test
  void aWriterOfTheOldDefinitionComesTooLate() {
    Table stale = seen();
    DataFile file = MemoryTables.dayFile(stale, "2");
    replacing(seen(), OTHER).commit();
    KeylakeException refused = assertThrows(KeylakeException.class, () -> append(stale, file));
    assertEquals(Kind.COMMIT_CONFLICT, refused.kind());
    assertTrue(refused.getMessage().contains("another definition"), refused.getMessage());
    assertEquals(1, new CommitLog(seen(), null).entries(each -> true, 10).size());
  }

  @Test
  void aBranchOfTheOldDefinitionTakesNoCommit() {
    replacing(table, OTHER).commit();
    Table now = seen();
    now.manageSnapshots().createBranch("tmp_old", before).commit();
    KeylakeException refused =
        assertThrows(
            KeylakeException.class,
            () ->
                new Commits(now)
                    .make(
                        new Append(
                            "tmp_old",
                            List.of(MemoryTables.dayFile(now, "2")),
                            WriteSummaries.of("upsert"))));
    assertEquals(Kind.UNSUPPORTED, refused.kind());
  }

  @Test
  void aDraftThatIsGivenUpLeavesNothing() {
    Staging staged = replacing(table, OTHER);
    append(staged, "2");
    Snapshot written = staged.table().currentSnapshot();
    staged.discard();
    assertThrows(
        NotFoundException.class,
        () -> staged.table().io().newInputFile(written.manifestListLocation()));
    assertEquals(before, seen().currentSnapshot().snapshotId());
    assertEquals(1, seen().currentSnapshot().allManifests(seen().io()).size());
  }

  @Test
  void ofTwoTablesOfOneNameTheFirstIsMade() {
    TableIdentifier name = TableIdentifier.of("shop", "twice");
    Staging first = created(name);
    Staging second = created(name);
    append(first, "1");
    append(second, "2");
    first.commit();
    KeylakeException refused = assertThrows(KeylakeException.class, second::commit);
    assertEquals(Kind.TABLE_EXISTS, refused.kind());
    second.discard();
    Table made = catalog.loadTable(name);
    assertEquals(first.table().currentSnapshot().snapshotId(), made.currentSnapshot().snapshotId());
    assertEquals(1, made.currentSnapshot().allManifests(made.io()).size());
  }

  private Staging created(TableIdentifier name) {
    Schema schema = SAME.icebergSchema();
    return Staging.ofNew(
        catalog
            .buildTable(name, schema)
            .withPartitionSpec(SAME.partitionSpec(schema))
            .withSortOrder(SAME.sortOrder(schema))
            .withProperties(SAME.properties(Map.of()))
            .createTransaction(),
        () -> catalog.loadTable(name));
  }

  @Test
  void aTableIsReplacedAgainAndAgain() {
    replacing(seen(), OTHER).commit();
    replacing(seen(), SAME).commit();
    replacing(seen(), OTHER).commit();
    assertEquals(7, KeyedSchema.of(seen()).spec().buckets());
    append(seen(), MemoryTables.dayFile(seen(), "2"));
    assertEquals(2, new CommitLog(seen(), null).entries(each -> true, 10).size());
  }
}
