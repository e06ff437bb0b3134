package io.keylake.tables.commits;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.CaseFiles;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Lineage;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.Watermarks;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.MemoryTables;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.DataFiles;
import org.apache.iceberg.Metrics;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * Commits that only rewrite manifests, by keylake or by another engine, and the expiry of all
 * commits before them: what answers and decisions need is still known, or its loss is said.
 */
class CarriedFactsTest {
  private static final long VERSION = 4_000_000_000_000_000L; // of a commit in the year 2096
  private static final String NAME = "2-%d-c4c84282-2eb3-465b-a3ba-2efc403b8bb9-00001.parquet";
  private Table table;
  private KeyedSchema schema;
  private long draft;

  /**
   * A table with a watermark and a key, whose files are merged and settled, and a draft whose
   * commit it has taken in.
   */
  @BeforeEach
  void createTable() {
    String spec = CaseFiles.json("spec/partitioned.json").get("spec").toString();
    table =
        MemoryTables.catalogWith(
                TableDefinition.fromJson(
                    spec.replace("\"versions\":\"explicit\"", "\"versions\":\"commit\"")))
            .loadTable(MemoryTables.NAME);
    schema = KeyedSchema.of(table);
    append(null, 1, "i1", 7_000L);
    table.manageSnapshots().createBranch("draft").commit();
    append("draft", 2, "i2", null);
    draft = new CommitLog(table, "draft").headId();
    CherryPick.of(table, null, range(), Expressions.alwaysTrue(), null).run();
    make(
        attempt ->
            attempt.commit(
                null,
                attempt.transaction().newRewrite().deleteFile(file(2)).addFile(file(3)),
                parent -> CommitSummary.of(WriteSummary.compaction(1, "by hand", 1, VERSION))));
    make(
        attempt ->
            attempt.commit(
                null,
                attempt.transaction().newFastAppend(),
                parent -> CommitSummary.of(WriteSummary.settled(0, settled(), VERSION, true))));
    table.refresh();
  }

  private static Settled settled() {
    return new Settled(3, Set.of(), 0);
  }

  private CommitRange range() {
    return CommitRange.of(table, table.snapshot(draft).parentId(), draft);
  }

  private void make(Change change) {
    assertTrue(new Commits(table).make(change).isCommitted());
  }

  private Append written(String branch, int number, String key, Long watermark) {
    WriteLabels labels = new WriteLabels("clicks", null, null, key, OffsetRanges.NONE, watermark);
    return new Append(
        branch,
        List.of(file(number)),
        new WriteSummary("update", 1, VERSION, VERSION, List.of("spend"), labels));
  }

  private void append(String branch, int number, String key, Long watermark) {
    make(written(branch, number, key, watermark));
    table.refresh();
  }

  private DataFile file(int number) {
    Map<Integer, ByteBuffer> bound =
        Map.of(schema.version().fieldId(), Conversions.toByteBuffer(Types.LongType.get(), VERSION));
    return DataFiles.builder(table.spec())
        .withPath("data/0000" + NAME.formatted(number))
        .withFormat("parquet")
        .withFileSizeInBytes(10)
        .withMetrics(new Metrics(1L, null, Map.of(), Map.of(), null, bound, bound))
        .withPartitionPath("day=2026-01-01/tenant=t/user_id_bucket=0")
        .withSortOrder(schema.keyOrder(table))
        .build();
  }

  private void rewriteManifestsElsewhere() {
    table.rewriteManifests().clusterBy(file -> 0).commit();
    table.refresh();
  }

  private void expireAllButTheHeads() {
    LedgerChanges.expire(table);
    assertNull(table.snapshot(table.currentSnapshot().parentId()));
  }

  private void assertKnown() {
    Long head = table.currentSnapshot().snapshotId();
    assertTrue(Lineage.of(table, head).isKnown());
    assertEquals(Map.of("clicks", 7_000L), Watermarks.of(table, head).byStream());
    assertEquals(VERSION, new CommitLog(table, null).nextVersion());
    assertTrue(Ledger.of(table, table.currentSnapshot()).isWhole());
    for (String key : List.of("i1", "i2")) {
      assertTrue(new Commits(table).make(written(null, 9, key, null)).isRepeated(), key);
    }
    KeylakeException refused =
        assertThrows(
            KeylakeException.class,
            () -> CherryPick.of(table, null, ofDraft(), Expressions.alwaysTrue(), null).run());
    assertEquals(Kind.NOTHING_TO_DO, refused.kind());
  }

  /** The commit of the draft; the one before it may have expired. */
  private CommitRange ofDraft() {
    return new CommitRange(table.snapshot(draft).parentId(), List.of(table.snapshot(draft)));
  }

  @Test
  void aRewriteOfManifestsCarriesFactsOn() {
    Settled before = Settled.of(table.currentSnapshot());
    make(new ManifestRewrite());
    assertTrue(WriteSummary.isTidying(table.currentSnapshot()));
    assertEquals("safe", table.currentSnapshot().summary().get(WriteSummary.PLAIN_READS));
    expireAllButTheHeads();
    assertEquals(before, Settled.of(table.currentSnapshot()));
    assertKnown();
  }

  @Test
  void theNextCommitCarriesFactsOnOverAForeignRewrite() {
    rewriteManifestsElsewhere();
    append(null, 5, "i5", null);
    expireAllButTheHeads();
    assertKnown();
  }

  @Test
  void ourExpiryCarriesFactsOnBeforeTheyExpire() {
    rewriteManifestsElsewhere();
    assertTrue(CarriedFacts.keep(table));
    table.refresh();
    expireAllButTheHeads();
    assertKnown();
  }

  @Test
  void factsThatAreLostAreSaidToBe() {
    rewriteManifestsElsewhere();
    expireAllButTheHeads();
    Long head = table.currentSnapshot().snapshotId();
    assertEquals(VERSION, new CommitLog(table, null).nextVersion(), "as the files have it");
    assertLost("watermark", () -> Watermarks.of(table, head));
    assertLost("'i1'", () -> new Commits(table).make(written(null, 9, "i1", null)));
    assertLost(
        "cannot be told",
        () -> CherryPick.of(table, null, ofDraft(), Expressions.alwaysTrue(), null));
    append(null, 5, "i5", 9_000L);
    expireAllButTheHeads();
    Long now = table.currentSnapshot().snapshotId();
    assertEquals(Map.of("clicks", 9_000L), Watermarks.of(table, now).byStream());
    assertEquals(VERSION, new CommitLog(table, null).nextVersion());
    assertLost("'i1'", () -> new Commits(table).make(written(null, 9, "i1", null)));
    assertTrue(new Commits(table).make(written(null, 9, "i5", null)).isRepeated());
  }

  private static void assertLost(String word, Runnable asking) {
    KeylakeException refused = assertThrows(KeylakeException.class, asking::run);
    assertEquals(Kind.SNAPSHOT_EXPIRED, refused.kind());
    assertTrue(refused.getMessage().contains(word), refused.getMessage());
  }

  @Test
  void aRewriteOfManifestsIsRefusedUponAForeignCommit() {
    table.newAppend().appendFile(file(6)).commit();
    KeylakeException refused =
        assertThrows(KeylakeException.class, () -> make(new ManifestRewrite()));
    assertEquals(Kind.FOREIGN_COMMIT, refused.kind());
  }

  @Test
  void keysOfOtherBranchesAreForgottenAfterTheirTime() {
    String gone = IdempotencyKeys.PREFIX + "gone";
    String half = IdempotencyKeys.PREFIX + "half";
    String young =
        "[\"young\",2,2,%d,\"update\",1,null,null]".formatted(System.currentTimeMillis());
    table
        .updateProperties()
        .set(gone, "[[\"old\",1,1,0,\"update\",1,null,null]]")
        .set(half, "[[\"old\",1,1,0,\"update\",1,null,null]," + young + "]")
        .commit();
    append(null, 5, "i5", null);
    assertFalse(table.properties().containsKey(gone));
    assertEquals("[" + young + "]", table.properties().get(half));
    for (String key : List.of("i1", "i2", "i5")) {
      assertTrue(new Commits(table).make(written(null, 9, key, null)).isRepeated(), key);
    }
  }

  @Test
  void aKeyThatAnotherBranchGetsMeanwhileIsNotForgotten() {
    table.manageSnapshots().createBranch("half").commit();
    table
        .updateProperties()
        .set(IdempotencyKeys.PREFIX + "half", "[[\"old\",1,1,0,\"update\",1,null,null]]")
        .commit();
    table.refresh();
    Append own = written(null, 5, "i5", null);
    Append other = written("half", 6, "i6", null);
    AtomicBoolean isFirst = new AtomicBoolean(true);
    make(
        new Change() {
          @Override
          public void addTo(Attempt attempt) {
            own.addTo(attempt);
            if (isFirst.getAndSet(false)) {
              Table same = new BaseTable(((BaseTable) table).operations(), table.name());
              assertTrue(new Commits(same).make(other).isCommitted());
            }
          }

          @Override
          public WriteLabels labels() {
            return own.labels();
          }
        });
    table.refresh();
    for (String branch : List.of("main", "half")) {
      String key = branch.equals("main") ? "i5" : "i6";
      String name = branch.equals("main") ? null : branch;
      assertTrue(new Commits(table).make(written(name, 9, key, null)).isRepeated(), key);
    }
    String kept = String.valueOf(table.properties().get(IdempotencyKeys.PREFIX + "half"));
    assertTrue(kept.contains("update") && !kept.contains("old"), kept);
  }
}
