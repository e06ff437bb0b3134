package io.keylake.tables.planning;

import io.keylake.merge.ColumnClass.Takes;
import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import java.io.Serializable;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.apache.iceberg.DeleteFile;
import org.jspecify.annotations.Nullable;

/**
 * The plan by which one section of a bucket is read: decided from metadata, carried out wherever
 * the task runs.
 *
 * @param runs the files of each run, in key order; the runs in the order that {@code rules} speak
 *     of
 * @param rules how the runs are merged; null when there is one run and its rows are the answer as
 *     they stand
 * @param decided the columns behind {@code rules.classes()}
 * @param states for each run, the field ids of the states that its rows may have; empty for a plan
 *     that passes its rows through
 * @param slice the part of the section to read; null for all of it
 */
public record SectionPlan(
    List<List<StoredFile>> runs,
    @Nullable MergeRules rules,
    DecidedClasses decided,
    List<Set<Integer>> states,
    @Nullable KeySlice slice)
    implements Serializable {
  public SectionPlan {
    runs = List.copyOf(runs);
    states = List.copyOf(states);
  }

  public SectionPlan(
      List<List<StoredFile>> runs,
      @Nullable MergeRules rules,
      List<DecidedColumns> classes,
      List<Set<Integer>> states,
      @Nullable KeySlice slice) {
    this(runs, rules, new DecidedClasses(classes), states, slice);
  }

  /** A whole section of one run whose rows are the answer as they stand. */
  static SectionPlan passedThrough(List<StoredFile> run) {
    return new SectionPlan(List.of(run), null, List.of(), List.of(), null);
  }

  /** The same files one by one: for whoever knows which of their rows win. */
  public SectionPlan withoutMerge() {
    List<StoredFile> files = runs.stream().flatMap(List::stream).toList();
    return passedThrough(files).cutTo(slice);
  }

  SectionPlan cutTo(@Nullable KeySlice slice) {
    return new SectionPlan(runs, rules, decided, states, slice);
  }

  /**
   * A data file.
   *
   * @param superseded which of its rows have to be left out; empty for none, also where rows that
   *     newer ones supersede do no harm
   * @param version of all rows, as the manifest says it, whatever is stored; null where it says no
   *     single one
   */
  public record StoredFile(
      String location, long bytes, long rows, List<DeleteFile> superseded, @Nullable Long version)
      implements Serializable {
    public StoredFile {
      superseded = List.copyOf(superseded);
    }

    /** A file of which no versions are read, or whose rows say them all. */
    public StoredFile(String location, long bytes, long rows, List<DeleteFile> superseded) {
      this(location, bytes, rows, superseded, null);
    }

    /** The rows that are not to be left out. */
    public long liveRows() {
      return rows - superseded.stream().mapToLong(DeleteFile::recordCount).sum();
    }

    /** No row of the section has to be left out. */
    public boolean isWhole() {
      return superseded.isEmpty();
    }

    StoredFile withAllRows() {
      return new StoredFile(location, bytes, rows, List.of(), version);
    }
  }

  /**
   * Columns that are decided together.
   *
   * @param leaf field id of the version leaf, read where a run carries the columns in some rows
   *     only
   * @param values field ids of the wanted value columns
   */
  public record DecidedColumns(int leaf, List<Integer> values) implements Serializable {
    public DecidedColumns {
      values = List.copyOf(values);
    }
  }

  /**
   * The classes of columns in the order of their rules, and which of them decides a column: a read
   * asks for each column of each batch, and a table can have thousands.
   */
  public static final class DecidedClasses implements Serializable {
    private final List<DecidedColumns> all;
    private final transient Map<Integer, Integer> byValue = new HashMap<>();
    private final transient Map<Integer, Integer> byLeaf = new HashMap<>();

    DecidedClasses(List<DecidedColumns> all) {
      this.all = List.copyOf(all);
      for (int c = 0; c < all.size(); c++) {
        for (int value : all.get(c).values()) {
          byValue.put(value, c);
        }
        byLeaf.put(all.get(c).leaf(), c);
      }
    }

    private Object readResolve() {
      return new DecidedClasses(all);
    }

    @Override
    public boolean equals(Object other) {
      return other instanceof DecidedClasses that && all.equals(that.all);
    }

    @Override
    public int hashCode() {
      return all.hashCode();
    }

    @Override
    public String toString() {
      return all.toString();
    }
  }

  /** The columns behind the classes of the rules, in the same order. */
  public List<DecidedColumns> classes() {
    return decided.all;
  }

  public boolean passedThrough() {
    return rules == null;
  }

  public boolean readsVersions() {
    return rules != null
        && (rules.order() == MergeRules.Order.VERSION || rules.wanted().hasStamps());
  }

  /**
   * The rules by which the runs are merged; only for a plan that does not pass its rows through.
   */
  public MergeRules merging() {
    return Objects.requireNonNull(rules, "rows that are passed through are not merged");
  }

  /** A run can hold values of a class, so that its columns are worth opening. */
  public boolean carries(int run, int columnClass) {
    return merging().classes().get(columnClass).byRun().get(run) != Presence.NEVER;
  }

  /** The class that decides a wanted value column. */
  public int classOf(int value) {
    Integer columnClass = decided.byValue.get(value);
    if (columnClass == null) {
      throw new IllegalStateException("column " + value + " was not planned");
    }
    return columnClass;
  }

  /** Says which of the stored values of a wanted value column count. */
  public Takes takes(int value) {
    return merging().classes().get(classOf(value)).takes();
  }

  /** The class that a version leaf stands for. */
  public int classOfLeaf(int leaf) {
    Integer columnClass = decided.byLeaf.get(leaf);
    if (columnClass == null) {
      throw new IllegalStateException("leaf " + leaf + " was not planned");
    }
    return columnClass;
  }

  /** The live rows of all its files, also where only a slice of them is read. */
  public long rows() {
    return runs.stream().flatMap(List::stream).mapToLong(StoredFile::liveRows).sum();
  }

  /** The bytes of all its files, also where only a slice of them is read. */
  public long bytes() {
    return runs.stream().flatMap(List::stream).mapToLong(StoredFile::bytes).sum();
  }
}
