package io.keylake.plaindeletes.index;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.IdentityHashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseFileScanTask;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.expressions.ResidualEvaluator;
import org.apache.iceberg.util.StructLikeWrapper;

/**
 * The equality deletes of a scan, in groups that share an index.
 *
 * <p>Iceberg's planning has left out, for each data file, the delete files that cannot touch it: by
 * sequence number, partition, bounds and counts of nulls. What is left is grouped by partition and
 * equality fields; delete files of a spec without partition fields apply to all partitions.
 *
 * <p>A group may have more delete files than one of its data files needs. That changes nothing: of
 * the others, the older ones lose by their sequence number, and the rest have none of its keys.
 *
 * @param groups first those that apply to all partitions
 * @param files all data files of the scan, those with the same groups side by side
 */
public record EqualityDeletes(List<DeleteGroup> groups, List<PlannedFile> files) {

  /**
   * @param schema of the table as it is read
   * @param specs all that the table has had, by their ids
   */
  public static EqualityDeletes of(
      Iterable<FileScanTask> tasks, Schema schema, Map<Integer, PartitionSpec> specs) {
    return new Planner(schema, specs).plan(tasks);
  }

  /** All fields of a delete file are columns of the table, and none lies inside of one. */
  public static boolean isIndexed(DeleteFile delete, Schema schema) {
    return delete.content() == FileContent.EQUALITY_DELETES
        && delete.equalityFieldIds().stream()
            .map(id -> schema.asStruct().field(id))
            .allMatch(field -> field != null && DeleteGroup.supports(field.type()));
  }

  /**
   * The values that delete files of one group have in common; no partition for those that apply to
   * all.
   */
  private record GroupKey(int specId, StructLikeWrapper partition, List<Integer> fieldIds) {
    boolean isGlobal() {
      return specId < 0;
    }
  }

  private static final class Planner {
    private static final int GLOBAL = -1;
    private static final StructLikeWrapper NO_PARTITION =
        StructLikeWrapper.forType(PartitionSpec.unpartitioned().partitionType());

    private final Schema schema;
    private final Map<GroupKey, Map<String, DeleteFile>> found = new LinkedHashMap<>();

    /** The tasks of a scan share the objects of their delete files. */
    private final Map<DeleteFile, Optional<GroupKey>> seen = new IdentityHashMap<>();

    private final Map<Integer, PartitionSpec> specs;
    private final Map<Integer, String> specsInJson = new HashMap<>();
    private final Map<Integer, String> schemasInJson = new HashMap<>();

    Planner(Schema schema, Map<Integer, PartitionSpec> specs) {
      this.schema = schema;
      this.specs = specs;
    }

    private record FileKeys(FileScanTask task, Set<GroupKey> keys) {}

    EqualityDeletes plan(Iterable<FileScanTask> tasks) {
      List<FileKeys> files = new ArrayList<>();
      for (FileScanTask task : tasks) {
        files.add(grouped(task));
      }
      List<GroupKey> keys = new ArrayList<>(found.keySet());
      keys.sort(Comparator.comparing(key -> !key.isGlobal()));
      Map<GroupKey, Integer> numbers = new LinkedHashMap<>();
      List<DeleteGroup> groups = new ArrayList<>();
      for (GroupKey key : keys) {
        numbers.put(key, groups.size());
        groups.add(group(key, found.getOrDefault(key, Map.of()).values()));
      }
      List<PlannedFile> planned =
          files.stream()
              .map(file -> new PlannedFile(file.task(), numbers(file.keys(), numbers)))
              .sorted(Comparator.comparing(PlannedFile::groups, EqualityDeletes::compare))
              .toList();
      return new EqualityDeletes(groups, planned);
    }

    private static List<Integer> numbers(Set<GroupKey> keys, Map<GroupKey, Integer> numbers) {
      return List.copyOf(
          keys.stream().map(numbers::get).collect(Collectors.toCollection(TreeSet::new)));
    }

    private FileKeys grouped(FileScanTask task) {
      List<DeleteFile> others = new ArrayList<>();
      Set<GroupKey> keys = new LinkedHashSet<>();
      for (DeleteFile delete : task.deletes()) {
        seen.computeIfAbsent(delete, this::grouped)
            .ifPresentOrElse(keys::add, () -> others.add(delete));
      }
      return new FileKeys(keys.isEmpty() ? task : with(task, others), keys);
    }

    private Optional<GroupKey> grouped(DeleteFile delete) {
      if (!isIndexed(delete, schema)) {
        return Optional.empty();
      }
      GroupKey key = key(delete);
      found
          .computeIfAbsent(key, any -> new LinkedHashMap<>())
          .computeIfAbsent(delete.location(), any -> delete.copyWithoutStats());
      return Optional.of(key);
    }

    private GroupKey key(DeleteFile delete) {
      List<Integer> fields = delete.equalityFieldIds().stream().distinct().sorted().toList();
      PartitionSpec spec = spec(delete.specId());
      return spec.isUnpartitioned()
          ? new GroupKey(GLOBAL, NO_PARTITION, fields)
          : new GroupKey(
              delete.specId(),
              StructLikeWrapper.forType(spec.partitionType()).set(delete.partition()),
              fields);
    }

    private PartitionSpec spec(int id) {
      return Objects.requireNonNull(specs.get(id), "every file has a spec of the table");
    }

    private DeleteGroup group(GroupKey key, Collection<DeleteFile> files) {
      return new DeleteGroup(
          key.fieldIds().stream().map(schema::findField).toList(), List.copyOf(files));
    }

    private FileScanTask with(FileScanTask task, List<DeleteFile> deletes) {
      int specId = task.file().specId();
      PartitionSpec spec = spec(specId);
      return new BaseFileScanTask(
          task.file(),
          deletes.toArray(DeleteFile[]::new),
          schemasInJson.computeIfAbsent(specId, any -> SchemaParser.toJson(spec.schema())),
          specsInJson.computeIfAbsent(specId, any -> PartitionSpecParser.toJson(spec)),
          ResidualEvaluator.unpartitioned(task.residual()));
    }
  }

  /**
   * Compares by the last group first: those that apply to all partitions come first in each list.
   */
  private static int compare(List<Integer> one, List<Integer> other) {
    for (int i = 1; i <= Math.min(one.size(), other.size()); i++) {
      int compared = Integer.compare(one.get(one.size() - i), other.get(other.size() - i));
      if (compared != 0) {
        return compared;
      }
    }
    return Integer.compare(one.size(), other.size());
  }
}
