package io.keylake.tables.planning;

import io.keylake.merge.ColumnClass;
import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.merge.Section;
import io.keylake.merge.SortedRun;
import io.keylake.tables.planning.FileFacts.VersionRange;
import io.keylake.tables.planning.SectionPlan.DecidedColumns;
import io.keylake.tables.planning.SectionPlan.StoredFile;
import io.keylake.tables.planning.request.ReadSpec;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.Reducer;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Plans the files of one bucket: cuts them into sections, drops those that can hold no wanted row,
 * and decides for each of the others how it is merged, or that it is passed through.
 */
final class SectionPlanner {
  private final KeyedSchema schema;
  private final ReadSpec readSpec;
  private final ValueFilter valueFilter;
  private final boolean isInCommitOrder;
  private final Map<Integer, NestedField> wantedLeaves = new LinkedHashMap<>();
  private final Map<Integer, List<Integer>> valuesByLeaf = new HashMap<>();
  private final Map<Integer, Takes> takesByLeaf = new HashMap<>();
  private final Map<Integer, NestedField> wantedStates = new LinkedHashMap<>();
  private final Set<Integer> statesWithoutValue = new HashSet<>();

  /**
   * @param isInCommitOrder whether a later commit has the larger versions
   */
  SectionPlanner(
      KeyedSchema schema, ReadSpec readSpec, ValueFilter valueFilter, boolean isInCommitOrder) {
    this.isInCommitOrder = isInCommitOrder;
    this.schema = schema;
    this.readSpec = readSpec;
    this.valueFilter = valueFilter;
    if (readSpec.wanted()
        == MergeRules.Wanted.ROWS_AND_TOMBSTONES) { // rows and tombstones are facts like columns
      for (NestedField fact : List.of(schema.written(), schema.deleted())) {
        wantedLeaves.put(fact.fieldId(), fact);
        valuesByLeaf.put(fact.fieldId(), new ArrayList<>());
      }
    }
    for (NestedField value : schema.values()) {
      boolean isWanted = readSpec.values().contains(value.fieldId());
      if (isWanted || readSpec.stamps()) {
        NestedField leaf = schema.leafOf(value);
        wantedLeaves.put(leaf.fieldId(), leaf);
        List<Integer> values =
            valuesByLeaf.computeIfAbsent(leaf.fieldId(), id -> new ArrayList<>());
        if (isWanted) {
          values.add(value.fieldId());
          addState(value);
        }
        takesByLeaf.put(leaf.fieldId(), takes(schema.spec().reducer(value.name())));
      }
    }
  }

  private void addState(NestedField value) {
    NestedField state = schema.stateOf(value);
    if (state != null) {
      wantedStates.put(state.fieldId(), state);
      if (!schema.isShownWithState(value)) {
        statesWithoutValue.add(state.fieldId());
      }
    }
  }

  private static Takes takes(Reducer reducer) {
    if (!reducer.accumulates()) {
      return Takes.NEWEST;
    }
    return reducer.kind() == Reducer.Kind.FIRST ? Takes.EARLIEST : Takes.ALL;
  }

  private boolean accumulates() {
    return takesByLeaf.values().stream().anyMatch(takes -> takes != Takes.NEWEST);
  }

  /** The version leaves of the wanted columns, by field id. */
  Map<Integer, NestedField> wantedLeaves() {
    return wantedLeaves;
  }

  /** The states of the wanted columns, by field id. */
  Map<Integer, NestedField> wantedStates() {
    return wantedStates;
  }

  /**
   * The sections that may hold a wanted row, in key order.
   *
   * @param areAll whether no other file has rows of these keys: then a merge sees for itself which
   *     rows are superseded, and need not be told
   */
  List<PlannedSection> sections(List<PlannedFile> files, boolean areAll) {
    Comparator<KeyBound> order = KeyBound.order(schema.sortKey());
    return Section.cut(
            files, f -> f.facts().lower(), f -> f.facts().upper(), PlannedFile::age, order)
        .stream()
        .flatMap(section -> apart(section).stream())
        .map(section -> new PlannedSection(plan(section, areAll), section.runs()))
        .filter(section -> valueFilter.mayMatch(section.files().toList()))
        .toList();
  }

  /** The files of a settled section one by one, where their order is of no use. */
  private List<Section<PlannedFile>> apart(Section<PlannedFile> section) {
    List<PlannedFile> files = section.runs().stream().flatMap(run -> run.files().stream()).toList();
    boolean isSettled =
        section.runs().size() > 1 && files.stream().allMatch(PlannedFile::isSettled);
    if (!isSettled || readSpec.isOrdered() || readSpec.stamps()) {
      return List.of(section);
    }
    return files.stream()
        .map(file -> new Section<>(List.of(new SortedRun<>(file.age(), List.of(file)))))
        .toList();
  }

  private SectionPlan plan(Section<PlannedFile> section, boolean areAll) {
    List<SortedRun<PlannedFile>> runs = section.runs();
    boolean single = runs.size() == 1;
    if (single && !readSpec.stamps() && runs.get(0).files().stream().allMatch(this::isShown)) {
      return SectionPlan.passedThrough(files(runs.get(0)));
    }
    List<SortedRun<PlannedFile>> byVersion =
        isInCommitOrder || single ? runs : inVersionOrder(runs);
    MergeRules.Order order = byVersion == null ? MergeRules.Order.VERSION : MergeRules.Order.RUN;
    List<SortedRun<PlannedFile>> ordered = byVersion == null ? runs : byVersion;
    List<DecidedColumns> columns = new ArrayList<>();
    List<ColumnClass> classes = classes(ordered, columns);
    MergeRules rules =
        new MergeRules(
            order,
            presences(ordered, f -> f.facts().written()),
            presences(ordered, f -> f.facts().deleted()),
            classes,
            readSpec.wanted());
    List<List<StoredFile>> stored = ordered.stream().map(SectionPlanner::files).toList();
    return new SectionPlan(
        areAll && !single ? withAllRows(stored) : stored, rules, columns, states(ordered), null);
  }

  /** All rows of a file are visible, and their values the answer as they stand. */
  private boolean isShown(PlannedFile file) {
    return file.facts().visible()
        && statesWithoutValue.stream().allMatch(id -> file.presence(id) == Presence.NEVER);
  }

  private List<Set<Integer>> states(List<SortedRun<PlannedFile>> runs) {
    return runs.stream()
        .map(
            run ->
                wantedStates.keySet().stream()
                    .filter(id -> has(run, file -> file.presence(id)))
                    .collect(Collectors.toSet()))
        .toList();
  }

  /**
   * The runs in an order in which the later one always wins; null where versions must decide. Only
   * runs that compete for something wanted have to be in order: those that carry the same column,
   * and, where rows are deleted, deletions with every column and with the rows themselves.
   * Accumulators want the order of commits as well.
   */
  private @Nullable List<SortedRun<PlannedFile>> inVersionOrder(List<SortedRun<PlannedFile>> runs) {
    List<SortedRun<PlannedFile>> sorted = new ArrayList<>(runs);
    Comparator<SortedRun<PlannedFile>> byRange =
        Comparator.comparingLong(run -> versions(run).min());
    sorted.sort(
        byRange.thenComparingLong(run -> versions(run).max()).thenComparingLong(SortedRun::age));
    if (accumulates() && !sorted.equals(runs)) {
      return null;
    }
    if (readSpec.stamps()) {
      return isInOrder(sorted, f -> Presence.ALWAYS) ? sorted : null;
    }
    Fact deleted = f -> f.facts().deleted();
    Fact written =
        runs.stream().anyMatch(run -> has(run, deleted)) ? f -> f.facts().written() : deleted;
    Stream<Fact> columns = wantedLeaves.keySet().stream().map(leaf -> f -> f.presence(leaf));
    return Stream.concat(columns, Stream.of(written))
            .allMatch(fact -> isInOrder(sorted, fact, deleted))
        ? sorted
        : null;
  }

  /** The runs that have one of the facts are in version order in all of their rows. */
  private static boolean isInOrder(List<SortedRun<PlannedFile>> sorted, Fact... facts) {
    SortedRun<PlannedFile> before = null;
    for (SortedRun<PlannedFile> run : sorted) {
      if (Stream.of(facts).anyMatch(fact -> has(run, fact))) {
        if (before != null && !wins(run, before)) {
          return false;
        }
        before = run;
      }
    }
    return true;
  }

  private static boolean wins(SortedRun<PlannedFile> run, SortedRun<PlannedFile> before) {
    long last = versions(before).max();
    long first = versions(run).min();
    return last < first || (last == first && before.age() <= run.age());
  }

  private static boolean has(SortedRun<PlannedFile> run, Fact fact) {
    return presence(run, fact) != Presence.NEVER;
  }

  private static VersionRange versions(SortedRun<PlannedFile> run) {
    return run.files().stream()
        .map(f -> f.facts().versions())
        .reduce(VersionRange::and)
        .orElseThrow();
  }

  private List<ColumnClass> classes(
      List<SortedRun<PlannedFile>> runs, List<DecidedColumns> columns) {
    List<ColumnClass> classes = new ArrayList<>();
    Map<ColumnClass, List<Integer>> known = new HashMap<>(); // the values of each
    List<Integer> leaves = new ArrayList<>();
    List<List<Integer>> values = new ArrayList<>();
    for (int leaf : wantedLeaves.keySet()) {
      List<Integer> ofLeaf = valuesByLeaf.getOrDefault(leaf, List.of());
      List<Presence> byRun = presences(runs, f -> f.presence(leaf));
      boolean isNowhere = byRun.stream().allMatch(presence -> presence == Presence.NEVER);
      if (isNowhere && leaf == schema.deleted().fieldId()) {
        continue; // then a row that has all columns is all there is to know of a key
      }
      ColumnClass own = new ColumnClass(byRun, takesByLeaf.getOrDefault(leaf, Takes.NEWEST));
      List<Integer> shared =
          readSpec.stamps() || byRun.contains(Presence.PER_ROW) ? null : known.get(own);
      if (shared == null) {
        shared = new ArrayList<>();
        known.put(own, shared);
        classes.add(own);
        leaves.add(leaf);
        values.add(shared);
      }
      shared.addAll(ofLeaf);
    }
    for (int c = 0; c < leaves.size(); c++) {
      columns.add(new DecidedColumns(leaves.get(c), values.get(c)));
    }
    return classes;
  }

  private interface Fact {
    Presence of(PlannedFile file);
  }

  private static Presence presence(SortedRun<PlannedFile> run, Fact fact) {
    return run.files().stream().map(fact::of).reduce(Presence::and).orElseThrow();
  }

  private static List<Presence> presences(Collection<SortedRun<PlannedFile>> runs, Fact fact) {
    return runs.stream().map(run -> presence(run, fact)).toList();
  }

  private static List<StoredFile> files(SortedRun<PlannedFile> run) {
    return run.files().stream().map(PlannedFile::file).toList();
  }

  private static List<List<StoredFile>> withAllRows(List<List<StoredFile>> runs) {
    return runs.stream()
        .map(files -> files.stream().map(StoredFile::withAllRows).toList())
        .toList();
  }
}
