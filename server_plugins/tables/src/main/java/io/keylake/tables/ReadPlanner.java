package io.keylake.tables;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.merge.ColumnClass;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.Section;
import io.keylake.merge.SortedRun;
import io.keylake.tables.FileFacts.VersionRange;
import io.keylake.tables.SectionPlan.DecidedColumns;
import io.keylake.tables.SectionPlan.StoredFile;
import java.io.IOException;
import java.io.Serializable;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.StructLike;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableScan;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.CloseableIterable;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.ByteBuffers;

/**
 * Plans a merged read from manifests alone: which files, in which sections, and what of them has to
 * be opened.
 *
 * <ol>
 *   <li>Files that cannot hold a wanted key are dropped by Iceberg's own planning.
 *   <li>The files of a bucket are cut into sections; a section of one run whose rows are all
 *       visible is passed through.
 *   <li>Where the version ranges of the runs do not overlap, the runs are put in version order and
 *       no version is read.
 *   <li>Columns that the same runs carry in every row form one class; a leaf is read only where
 *       rows differ.
 * </ol>
 */
public final class ReadPlanner {
  private final Table table;
  private final KeyedSchema schema;
  private final Wish wish;
  private final int keyOrderId;
  private final Map<Integer, NestedField> wantedLeaves = new LinkedHashMap<>();
  private final Map<Integer, List<Integer>> valuesByLeaf = new HashMap<>();

  /**
   * What a read wants.
   *
   * @param filter on key columns only: a filter on values could change which version of a row is
   *     the newest
   * @param values field ids of the wanted value columns
   * @param wanted which rows, and whether with their stamps
   */
  public record Wish(
      Long snapshotId, Expression filter, Set<Integer> values, MergeRules.Wanted wanted) {
    public Wish {
      values = Set.copyOf(values);
    }

    boolean stamps() {
      return wanted != MergeRules.Wanted.ROWS;
    }
  }

  public ReadPlanner(Table table, KeyedSchema schema, Wish wish) {
    this.table = table;
    this.schema = schema;
    this.wish = wish;
    this.keyOrderId = KeyedSchema.keyOrder(table, schema.key()).orderId();
    for (NestedField value : schema.values()) {
      boolean isWanted = wish.values().contains(value.fieldId());
      if (isWanted || wish.stamps()) {
        NestedField leaf = schema.leafOf(value);
        wantedLeaves.put(leaf.fieldId(), leaf);
        List<Integer> values =
            valuesByLeaf.computeIfAbsent(leaf.fieldId(), id -> new ArrayList<>());
        if (isWanted) {
          values.add(value.fieldId());
        }
      }
    }
  }

  /** The buckets that have files, in no particular order. */
  public List<BucketPlan> plan() {
    if (wish.snapshotId() == null) {
      return List.of();
    }
    Map<List<Serializable>, List<Candidate>> buckets = new LinkedHashMap<>();
    Set<Integer> specs = new HashSet<>();
    try (CloseableIterable<FileScanTask> tasks = scan().planFiles()) {
      for (FileScanTask task : tasks) {
        check(task, specs);
        buckets
            .computeIfAbsent(partition(task), key -> new ArrayList<>())
            .add(candidate(task.file()));
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    List<BucketPlan> plans = new ArrayList<>();
    buckets.forEach((partition, files) -> plans.add(new BucketPlan(partition, sections(files))));
    return plans;
  }

  private TableScan scan() {
    List<String> statistics =
        schema.statistics(wantedLeaves.keySet()).stream()
            .map(schema.table()::findColumnName)
            .toList();
    return table
        .newScan()
        .useSnapshot(wish.snapshotId())
        .filter(wish.filter())
        .ignoreResiduals()
        .includeColumnStats(statistics);
  }

  private void check(FileScanTask task, Set<Integer> specs) {
    specs.add(task.spec().specId());
    if (specs.size() > 1) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has files of several partition specs (%s); the bucketing of a keyed table cannot change yet"
              .formatted(table.name(), specs));
    }
    Integer order = task.file().sortOrderId();
    if (order == null || order != keyOrderId) {
      throw new KeylakeException(
          UNSUPPORTED,
          "file %s is not sorted by key: it was written or rewritten by something that does not know keyed tables; roll back to the snapshot before"
              .formatted(task.file().location()));
    }
    if (!task.deletes().isEmpty()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "file %s has Iceberg delete files, which a merged read does not apply yet; they were not written by keylake"
              .formatted(task.file().location()));
    }
  }

  private static List<Serializable> partition(FileScanTask task) {
    StructLike tuple = task.file().partition();
    List<Serializable> values = new ArrayList<>();
    for (int i = 0; i < tuple.size(); i++) {
      Object value = tuple.get(i, Object.class);
      values.add(serializable(value));
    }
    return values;
  }

  private static Serializable serializable(Object value) {
    if (value instanceof CharSequence text) {
      return text.toString();
    }
    return value instanceof ByteBuffer buffer
        ? ByteBuffers.toByteArray(buffer)
        : (Serializable) value;
  }

  /** One file as the planner sees it. */
  private record Candidate(
      StoredFile file, long age, FileFacts facts, Map<Integer, Presence> leaves) {}

  private Candidate candidate(DataFile file) {
    Map<Integer, Presence> leaves = new HashMap<>();
    wantedLeaves.forEach((id, leaf) -> leaves.put(id, FileFacts.presence(file, leaf)));
    return new Candidate(
        new StoredFile(file.location(), file.fileSizeInBytes(), file.recordCount()),
        file.dataSequenceNumber(),
        FileFacts.of(file, schema, wantedLeaves.values()),
        leaves);
  }

  private List<SectionPlan> sections(List<Candidate> files) {
    Comparator<KeyBound> order = KeyBound.order(schema.key());
    return Section.cut(files, f -> f.facts().lower(), f -> f.facts().upper(), Candidate::age, order)
        .stream()
        .map(this::plan)
        .toList();
  }

  private SectionPlan plan(Section<Candidate> section) {
    List<SortedRun<Candidate>> runs = section.runs();
    boolean single = runs.size() == 1;
    if (single
        && !wish.stamps()
        && runs.get(0).files().stream().allMatch(f -> f.facts().visible())) {
      return new SectionPlan(List.of(files(runs.get(0))), null, List.of());
    }
    List<SortedRun<Candidate>> byVersion =
        schema.spec().versions() == TableSpec.Versions.COMMIT || single
            ? runs
            : inVersionOrder(runs);
    MergeRules.Order order = byVersion == null ? MergeRules.Order.VERSION : MergeRules.Order.RUN;
    List<SortedRun<Candidate>> ordered = byVersion == null ? runs : byVersion;
    List<DecidedColumns> columns = new ArrayList<>();
    List<ColumnClass> classes = classes(ordered, columns);
    MergeRules rules =
        new MergeRules(
            order,
            presences(ordered, f -> f.facts().written()),
            presences(ordered, f -> f.facts().deleted()),
            classes,
            wish.wanted());
    return new SectionPlan(ordered.stream().map(ReadPlanner::files).toList(), rules, columns);
  }

  /**
   * The runs in version order where that order is the same for all of their rows; null where
   * versions must decide.
   */
  private static List<SortedRun<Candidate>> inVersionOrder(List<SortedRun<Candidate>> runs) {
    List<SortedRun<Candidate>> sorted = new ArrayList<>(runs);
    Comparator<SortedRun<Candidate>> byRange = Comparator.comparingLong(run -> versions(run).min());
    sorted.sort(
        byRange.thenComparingLong(run -> versions(run).max()).thenComparingLong(SortedRun::age));
    for (int i = 1; i < sorted.size(); i++) {
      long before = versions(sorted.get(i - 1)).max();
      long after = versions(sorted.get(i)).min();
      boolean tieInCommitOrder = before == after && sorted.get(i - 1).age() <= sorted.get(i).age();
      if (before > after || (before == after && !tieInCommitOrder)) {
        return null;
      }
    }
    return sorted;
  }

  private static VersionRange versions(SortedRun<Candidate> run) {
    return run.files().stream()
        .map(f -> f.facts().versions())
        .reduce(VersionRange::and)
        .orElseThrow();
  }

  private List<ColumnClass> classes(List<SortedRun<Candidate>> runs, List<DecidedColumns> columns) {
    List<ColumnClass> classes = new ArrayList<>();
    Map<List<Presence>, Integer> known = new HashMap<>();
    for (int leaf : wantedLeaves.keySet()) {
      List<Presence> byRun = presences(runs, f -> f.leaves().get(leaf));
      Integer shared = wish.stamps() || byRun.contains(Presence.PER_ROW) ? null : known.get(byRun);
      if (shared == null) {
        known.put(byRun, classes.size());
        classes.add(new ColumnClass(byRun));
        columns.add(new DecidedColumns(leaf, valuesByLeaf.get(leaf)));
      } else {
        List<Integer> values = new ArrayList<>(columns.get(shared).values());
        values.addAll(valuesByLeaf.get(leaf));
        columns.set(shared, new DecidedColumns(columns.get(shared).leaf(), values));
      }
    }
    return classes;
  }

  private interface Fact {
    Presence of(Candidate file);
  }

  private static List<Presence> presences(Collection<SortedRun<Candidate>> runs, Fact fact) {
    return runs.stream()
        .map(run -> run.files().stream().map(fact::of).reduce(Presence::and).orElseThrow())
        .toList();
  }

  private static List<StoredFile> files(SortedRun<Candidate> run) {
    return run.files().stream().map(Candidate::file).toList();
  }
}
