package io.keylake.tables.storage;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.branches.CherryPick;
import io.keylake.tables.branches.HistoryBranches;
import io.keylake.tables.branches.Publication;
import io.keylake.tables.commits.Append;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import io.keylake.tables.history.Settled;
import io.keylake.tables.history.WriteSummaries;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.planning.FileListing;
import io.keylake.tables.repair.FileChange;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import java.util.stream.StreamSupport;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileMetadata;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.RewriteFiles;
import org.apache.iceberg.RowDelta;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.SnapshotRef;
import org.apache.iceberg.Table;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.util.SnapshotUtil;

/** Random steps in the life of a table, by three clients. */
final class RandomSteps {
  private static final Instant LONG_AGO = Instant.parse("2020-01-01T00:00:00Z");

  enum Step {
    WRITE,
    WRITE_LATE,
    OVERWRITE,
    REPLACE,
    SUPERSEDE,
    BRANCH,
    TAG,
    DROP,
    PUBLISH,
    PICK,
    ARCHIVE,
    ROLL_BACK,
    RESTORE,
    READ,
    LEAVE_BEHIND,
    CLEAN
  }

  private final Random random;
  private final TableOnDisk disk;
  private final List<Table> clients;
  private int names;
  private int days;

  RandomSteps(Random random, TableOnDisk disk) {
    this.random = random;
    this.disk = disk;
    this.clients = Stream.generate(disk::opened).limit(3).map(client -> client.table).toList();
  }

  /** Takes a step, which a table may refuse: then nothing was done. All files are old then. */
  Step take(Set<Step> done) {
    Step step = anyStep(done);
    Table table = anyOf(clients);
    if (random.nextBoolean()) {
      table.refresh();
    }
    disk.age(LONG_AGO);
    try {
      Snapshot any = anySnapshot(table);
      if (any == null) {
        write(table, SnapshotRef.MAIN_BRANCH);
        return Step.WRITE;
      }
      take(step, table, any);
      done.add(step);
    } catch (KeylakeException
        | ValidationException
        | CommitFailedException
        | IllegalArgumentException e) {
      table.refresh(); // others were faster, or what it is about has expired or never was
    } catch (NotFoundException e) {
      if (step == Step.CLEAN) {
        throw e;
      }
      table.refresh(); // it has read a snapshot that had expired since it looked
    }
    return step;
  }

  /** Often a clean-up, and often what has not been done yet: some steps need luck to succeed. */
  private Step anyStep(Set<Step> done) {
    if (random.nextInt(4) == 0) {
      return Step.CLEAN;
    }
    List<Step> open = new ArrayList<>(List.of(Step.values()));
    open.removeAll(done);
    return open.isEmpty() || random.nextBoolean() ? anyOf(List.of(Step.values())) : anyOf(open);
  }

  private void take(Step step, Table table, Snapshot any) {
    switch (step) {
      case WRITE -> write(table, anyBranch(table));
      case WRITE_LATE ->
          make(
              table,
              HistoryBranches.lateWrite(files(), WriteSummaries.of("update"), day(anyDay())));
      case OVERWRITE ->
          make(
              table,
              new Overwrite(
                  anyBranch(table),
                  Expressions.alwaysTrue(),
                  files(),
                  WriteSummaries.of("overwrite")));
      case REPLACE -> replace(table, anyBranch(table));
      case SUPERSEDE -> supersede(table, anyBranch(table));
      case BRANCH ->
          table.manageSnapshots().createBranch("tmp_" + ++names, any.snapshotId()).commit();
      case TAG -> table.manageSnapshots().createTag("tag_" + ++names, any.snapshotId()).commit();
      case DROP -> drop(table);
      case PUBLISH -> publish(table);
      case PICK -> pick(table);
      case ARCHIVE -> new HistoryBranches(table).archive(day(++days), null);
      case ROLL_BACK -> make(table, new Rollback(anyBranch(table), any.snapshotId()));
      case RESTORE -> restore(table, any);
      case READ -> read(table, any);
      case LEAVE_BEHIND -> TableOnDisk.age(disk.newFile("compact-"), LONG_AGO);
      case CLEAN -> Housekeeping.run(table, anyPolicy(), Instant.now());
    }
  }

  private RetentionPolicy anyPolicy() {
    int snapshots = 1 + random.nextInt(3);
    return new RetentionPolicy(
        random.nextInt(5) == 0 ? null : random.nextInt(3) == 0 ? 7.0 : 0.0,
        snapshots,
        random.nextBoolean() ? null : Integer.valueOf(snapshots + random.nextInt(3)),
        random.nextInt(3) == 0 ? 3 : 0,
        random.nextInt(4) == 0 ? 0.0 : null,
        0,
        30);
  }

  private static void make(Table table, Change change) {
    new Commits(table).make(change);
  }

  private void write(Table table, String branch) {
    make(table, new Append(branch, files(), WriteSummaries.of("update")));
  }

  private List<DataFile> files() {
    return IntStream.rangeClosed(0, random.nextInt(3))
        .mapToObj(i -> disk.written("%d,%d a @%d".formatted(i, i + 9, ++names)))
        .toList();
  }

  /** What a compaction does. */
  private void replace(Table table, String branch) {
    RewriteFiles rewrite = table.newRewrite().toBranch(branch);
    WriteSummary.compaction(1, "full", 1, null).forEach(rewrite::set);
    List<FileScanTask> old = tasks(table, branch);
    for (FileScanTask task : old.subList(0, 1 + random.nextInt(old.size()))) {
      rewrite.deleteFile(task.file());
      task.deletes().forEach(rewrite::deleteFile);
    }
    rewrite.addFile(disk.written("1,20 a @%d".formatted(++names))).commit();
  }

  /** What settling does. */
  private void supersede(Table table, String branch) {
    DataFile of = anyOf(tasks(table, branch)).file();
    RowDelta settled = table.newRowDelta().toBranch(branch);
    WriteSummary.settled(1, Settled.NOTHING, null, false).forEach(settled::set);
    settled
        .addDeletes(
            FileMetadata.deleteFileBuilder(table.spec())
                .ofPositionDeletes()
                .withPath(disk.newFile("settle-").toString())
                .withFormat("parquet")
                .withFileSizeInBytes(10)
                .withRecordCount(1)
                .withPartition(of.partition())
                .withReferencedDataFile(of.location())
                .build())
        .commit();
  }

  private void drop(Table table) {
    List<String> names = new ArrayList<>(table.refs().keySet());
    names.remove(SnapshotRef.MAIN_BRANCH);
    if (!names.isEmpty()) {
      String name = anyOf(names);
      if (table.refs().get(name).isTag()) {
        table.manageSnapshots().removeTag(name).commit();
      } else {
        table.manageSnapshots().removeBranch(name).commit();
      }
    }
  }

  private void publish(Table table) {
    table.refresh();
    String branch = "tmp_" + ++names;
    table.manageSnapshots().createBranch(branch, table.currentSnapshot().snapshotId()).commit();
    write(table, branch);
    if (random.nextBoolean()) {
      write(table, SnapshotRef.MAIN_BRANCH);
    }
    Publication publication = Publication.of(table, branch);
    cleanMeanwhile();
    publication.publish("{}");
  }

  /**
   * Planned now, and made when others have had their turn: of commits that are there with their
   * parents, to a branch that is not made from them.
   */
  private void pick(Table table) {
    Pick any =
        anyOf(
            table.refs().entrySet().stream()
                .filter(ref -> ref.getValue().isBranch())
                .flatMap(ref -> picks(table, ref.getKey(), ref.getValue().snapshotId()))
                .toList());
    CherryPick pick =
        CherryPick.of(table, any.target(), any.range(), Expressions.alwaysTrue(), null);
    cleanMeanwhile();
    pick.run();
  }

  private record Pick(String target, CommitRange range) {}

  private static Stream<Pick> picks(Table table, String target, long head) {
    return StreamSupport.stream(table.snapshots().spliterator(), false)
        .filter(each -> each.parentId() == null || table.snapshot(each.parentId()) != null)
        .filter(each -> !SnapshotUtil.isAncestorOf(head, each.snapshotId(), table::snapshot))
        .map(each -> new Pick(target, new CommitRange(each.parentId(), List.of(each))));
  }

  private void restore(Table table, Snapshot at) {
    Set<String> locations =
        FileListing.ofAll(table).at(at.snapshotId()).stream()
            .map(task -> task.file().location())
            .collect(Collectors.toSet());
    FileChange restored = FileChange.restore(table, anyBranch(table), locations, at.snapshotId());
    cleanMeanwhile();
    if (!restored.isEmpty()) {
      restored.commit();
    }
  }

  private void cleanMeanwhile() {
    if (random.nextBoolean()) {
      Table other = disk.opened().table;
      drop(other);
      Housekeeping.run(other, new RetentionPolicy(0.0, 1, null, 0, null, 0, 30), Instant.now());
    }
  }

  private void read(Table table, Snapshot to) {
    Positions consumers = new Positions(table, Positions.Kind.CONSUMER);
    Long from = consumers.all().get("reader");
    boolean isForgotten = from != null && random.nextBoolean();
    consumers.move("reader", from, isForgotten ? null : (Long) to.snapshotId());
  }

  private static List<FileScanTask> tasks(Table table, String branch) {
    Long head = new CommitLog(table, branch).headId();
    return FileListing.ofAll(table).at(head);
  }

  private String anyBranch(Table table) {
    return anyOf(
        table.refs().entrySet().stream()
            .filter(ref -> ref.getValue().isBranch())
            .map(ref -> ref.getKey())
            .toList());
  }

  /** Null where there is none. */
  private Snapshot anySnapshot(Table table) {
    List<Snapshot> all = StreamSupport.stream(table.snapshots().spliterator(), false).toList();
    return all.isEmpty() ? null : anyOf(all);
  }

  private int anyDay() {
    return random.nextInt(days + 1);
  }

  private static Instant day(int count) {
    return LONG_AGO.plus(count, ChronoUnit.DAYS);
  }

  private <T> T anyOf(List<T> all) {
    if (all.isEmpty()) {
      throw new IllegalArgumentException("there is none");
    }
    return all.get(random.nextInt(all.size()));
  }
}
