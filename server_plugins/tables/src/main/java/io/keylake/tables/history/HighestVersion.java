package io.keylake.tables.history;

import io.keylake.tables.spec.KeyedSchema;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.ManifestFile;
import org.apache.iceberg.ManifestFiles;
import org.apache.iceberg.ManifestReader;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.types.Conversions;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * The highest version on a branch: each commit says it again, as those before it may expire. Where
 * only commits of another engine are left, the files tell it.
 */
public record HighestVersion(Schema schema, Map<Integer, PartitionSpec> specs, FileIO io) {

  public static HighestVersion in(Table table) {
    return new HighestVersion(table.schema(), table.specs(), table.io());
  }

  /** The highest version; null where neither a commit nor a file says one. */
  public @Nullable Long of(Iterable<Snapshot> newestFirst) {
    Long highest = null;
    Snapshot head = null;
    Snapshot oldest = null;
    boolean hasOwn = false;
    for (Snapshot each : newestFirst) {
      highest = larger(highest, number(each, WriteSummary.MAX_VERSION));
      Long said = number(each, WriteSummary.HIGHEST_VERSION);
      if (said != null) {
        return larger(highest, said);
      }
      head = head == null ? each : head;
      oldest = each;
      hasOwn |= WriteSummary.isOwn(each);
    }
    boolean isUnsaid = !hasOwn && oldest != null && !WriteSummary.isFirst(oldest);
    return head != null && isUnsaid ? ofFiles(head) : highest;
  }

  private @Nullable Long ofFiles(Snapshot snapshot) {
    NestedField version = schema.findField(KeyedSchema.MERGE_INFO + "." + KeyedSchema.VERSION);
    Long highest = null;
    for (ManifestFile manifest : snapshot.dataManifests(io)) {
      try (ManifestReader<DataFile> files = ManifestFiles.read(manifest, io, specs)) {
        for (DataFile file : files) {
          Map<Integer, ByteBuffer> bounds = file.upperBounds();
          ByteBuffer bound = bounds == null ? null : bounds.get(version.fieldId());
          Long own = bound == null ? null : Conversions.fromByteBuffer(version.type(), bound);
          highest = larger(highest, own);
        }
      } catch (IOException e) {
        throw new UncheckedIOException(e);
      }
    }
    return highest;
  }

  private static @Nullable Long number(Snapshot commit, String name) {
    String said = commit.summary().get(name);
    return said == null ? null : Long.valueOf(said);
  }

  /** The larger of two numbers, of which any may be missing. */
  public static @Nullable Long larger(@Nullable Long one, @Nullable Long other) {
    return one == null ? other : other == null ? one : Long.valueOf(Math.max(one, other));
  }
}
