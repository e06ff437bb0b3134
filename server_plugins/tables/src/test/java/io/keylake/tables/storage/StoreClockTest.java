package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.planning.MemoryTable;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.io.FileInfo;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Clocks of the store and of this machine that do not agree. The disk's own clock is right here.
 */
class StoreClockTest {
  @TempDir private Path folder;

  /** A store whose clock is wrong by so many days. */
  private static final class SkewedFiles extends DiskFiles {
    private final int days;

    SkewedFiles(int days) {
      this.days = days;
    }

    @Override
    public List<FileInfo> listPrefix(String prefix) {
      return super.listPrefix(prefix).stream()
          .map(
              file ->
                  new FileInfo(
                      file.location(),
                      file.size(),
                      file.createdAtMillis() + Duration.ofDays(days).toMillis()))
          .toList();
    }
  }

  private TableOnDisk table(int daysAhead) {
    return new TableOnDisk(folder.resolve("table"), new SkewedFiles(daysAhead));
  }

  @ParameterizedTest
  @ValueSource(ints = {-400, -1, 1, 400})
  void theEarlierClockCounts(int daysAhead) {
    TableOnDisk disk = table(daysAhead);
    Instant here = Instant.now().truncatedTo(ChronoUnit.MILLIS);
    Instant told = StoreClock.notAhead(disk.opened().table, here);
    Instant there = here.plus(daysAhead, ChronoUnit.DAYS);
    if (daysAhead > 0) {
      assertEquals(here, told);
    } else {
      assertTrue(Duration.between(there, told).abs().toHours() < 1, told::toString);
    }
    assertTrue(
        disk.files().stream().noneMatch(path -> StoreClock.isOurs(path.getFileName().toString())));
  }

  @Test
  void nothingIsOldWhereTheStoreCannotTellTheTime() {
    Table table = MemoryTable.create("explicit").table;
    assertEquals(Instant.EPOCH, StoreClock.notAhead(table, Instant.now()));
  }

  @ParameterizedTest
  @CsvSource({"-300,0", "0,-2", "0,0", "0,1", "0,400", "300,0", "300,400"})
  void aWrongClockMakesNoFileOlderThanItIs(int daysAheadThere, int daysAheadHere) {
    TableOnDisk disk = table(daysAheadThere);
    Path young = disk.newFile("");
    TableOnDisk.age(young, Instant.now().minus(2, ChronoUnit.DAYS));
    Path old = disk.newFile("");
    TableOnDisk.age(old, Instant.now().minus(4, ChronoUnit.DAYS));
    Instant here = Instant.now().plus(daysAheadHere, ChronoUnit.DAYS);
    Housekeeping.run(disk.opened().table, RetentionPolicy.DEFAULT, here);
    assertTrue(Files.exists(young), "two days old, where three are kept");
    boolean isBehindTheStore = daysAheadHere < daysAheadThere;
    assertEquals(isBehindTheStore, Files.exists(old), "four days old, unless by an earlier clock");
  }

  /** Snapshots have the time of this machine when they were made. */
  @ParameterizedTest
  @ValueSource(ints = {-400, -2, 2, 400})
  void aClockThatGoesWrongExpiresNothingYoung(int daysAheadHere) {
    TableOnDisk disk = table(0);
    MemoryTable table = disk.opened();
    for (int version = 1; version <= 3; version++) {
      List<DataFile> files = List.of(disk.written("1 a @" + version));
      table.make(
          new Overwrite(null, Expressions.alwaysTrue(), files, WriteSummaries.of("overwrite")));
    }
    RetentionPolicy oneDay = new RetentionPolicy(1.0, 1, null, 0, null, 0, 30);
    Instant here = Instant.now().plus(daysAheadHere, ChronoUnit.DAYS);
    assertEquals(0, Housekeeping.run(table.table, oneDay, here).snapshots());
    disk.assertNothingIsMissing("with a clock that is wrong by %d days".formatted(daysAheadHere));
  }
}
