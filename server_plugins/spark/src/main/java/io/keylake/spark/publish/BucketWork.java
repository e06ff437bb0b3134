package io.keylake.spark.publish;

import io.keylake.spark.changes.PublishedRows;
import io.keylake.spark.engine.LocalDirectory;
import io.keylake.spark.publish.Manifest.GroupFile;
import io.keylake.tables.planning.BucketPlan;
import io.keylake.tables.planning.ChangePlan;
import java.io.File;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import org.apache.iceberg.Table;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.function.Function;
import org.apache.spark.broadcast.Broadcast;
import org.jspecify.annotations.Nullable;

/**
 * The work of one task: it streams the rows of a bucket into a file for each of its groups, and
 * leaves a record that the bucket is done. A file is made on the task's machine and then copied.
 *
 * @param all the bucket where all rows are published, or null
 * @param changed the bucket where only changes are, or null
 */
record BucketWork(
    PublishedSchema schema,
    KvFormat format,
    Target target,
    @Nullable BucketPlan all,
    ChangePlan.@Nullable Bucket changed)
    implements Serializable {

  /** Runs a work where a task is; a class of its own, so that nothing else travels with it. */
  record Runner(Broadcast<Table> table) implements Function<BucketWork, List<GroupFile>> {
    @Override
    public List<GroupFile> call(BucketWork work) throws IOException {
      return work.run(table.value());
    }
  }

  private List<Serializable> partition() {
    return all == null ? changes().partition() : all.partition();
  }

  private ChangePlan.Bucket changes() {
    return Objects.requireNonNull(changed, "a bucket has rows or changes");
  }

  /** The name of the record that the bucket is done. */
  String done() {
    return "%s/bucket=%06d.json"
        .formatted(KvPublisher.PROGRESS, (Integer) partition().get(partition().size() - 1));
  }

  private List<GroupFile> run(Table table) throws IOException {
    try (LocalDirectory local = LocalDirectory.create("keylake-publish");
        PublishedRows rows = rows(table);
        Folder folder = target.open(table.io())) {
      GroupWriters writers = format.writers(schema, target.settings());
      List<GroupFile> files = new ArrayList<>();
      TaskContext task = TaskContext.get();
      boolean hasRow = rows.next();
      while (hasRow) {
        Group group = new Group(rows.group(), new File(local.path(), format.fileOf(rows.group())));
        try (GroupWriters.GroupWriter writer = writers.open(group.file, group.number)) {
          while (hasRow && rows.group() == group.number) {
            writer.write(rows.row(), rows.isDeleted());
            group.count(rows.isDeleted());
            hasRow = rows.next();
          }
        }
        if (task.isInterrupted()) {
          throw new IOException("publishing was cancelled");
        }
        files.add(group.publish(folder));
      }
      folder.write(done(), Manifest.json(files));
      return files;
    }
  }

  private PublishedRows rows(Table table) {
    return all == null
        ? PublishedRows.of(table.io(), schema.table(), schema.values(), changes())
        : PublishedRows.of(table.io(), schema.table(), schema.values(), all);
  }

  /** The group that is being written. */
  private static final class Group {
    private final int number;
    private final File file;
    private long rows;
    private long tombstones;

    Group(int number, File file) {
      this.number = number;
      this.file = file;
    }

    void count(boolean isDeleted) {
      rows += isDeleted ? 0 : 1;
      tombstones += isDeleted ? 1 : 0;
    }

    GroupFile publish(Folder folder) throws IOException {
      long bytes = file.length();
      String crc32 = "%08x".formatted(folder.put(file, file.getName()));
      if (!file.delete()) {
        throw new IOException("cannot delete " + file);
      }
      return new GroupFile(number, file.getName(), rows, tombstones, bytes, crc32);
    }
  }
}
