package io.keylake.spark.read.task;

import io.keylake.merge.MergeRules;
import io.keylake.merge.Presence;
import io.keylake.spark.parquet.DataFiles;
import io.keylake.spark.parquet.FileColumns;
import io.keylake.spark.parquet.FileFilter;
import io.keylake.spark.parquet.RowChoice;
import io.keylake.spark.read.indexes.IndexProbes;
import io.keylake.tables.planning.SectionPlan;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.DataType;

/**
 * The task of a scan, as far as all of its tasks are alike: the wanted columns and how keys and
 * versions are stored.
 *
 * @param isOrdered whether the rows of a section have to come in key order
 * @param batchRows rows in a batch read from a file, and at most in a batch handed out
 */
public record ReadTask(
    KeyedSchema schema,
    List<OutputColumn> output,
    Filters filters,
    boolean isOrdered,
    int batchRows)
    implements Serializable {

  /**
   * The filters of the query.
   *
   * @param onKeys for files whose rows compete: every version of a row has the same key, so it
   *     drops all of them or none
   * @param onRows on keys and values, for files whose rows are the answer as they stand
   * @param onIndexes for sections, each as a whole
   * @param onMerged what merged rows must satisfy, the strictest test first: one is enough, since
   *     Spark tests them again
   */
  public record Filters(
      FileFilter onKeys, FileFilter onRows, IndexProbes onIndexes, List<Expression> onMerged)
      implements Serializable {
    static final Filters NONE =
        new Filters(FileFilter.NONE, FileFilter.NONE, IndexProbes.NONE, List.of());

    public boolean areNone() {
      return onKeys.isNone() && onRows.isNone();
    }
  }

  /** All rows, in key order. */
  public static ReadTask unfiltered(KeyedSchema schema, List<OutputColumn> output) {
    return new ReadTask(schema, output, Filters.NONE, true, DataFiles.BATCH_ROWS);
  }

  /** The columns to open in the files of a section of one run. */
  public FileColumns columns(SectionPlan section) {
    List<NestedField> fields = new ArrayList<>();
    Set<Integer> keys = outputIds(OutputColumn.Source.KEY);
    if (section.slice() != null || filters.onRows().names(KeyedSchema.GROUP)) {
      keys.add(firstKey());
    }
    addWanted(fields, keys, outputIds(OutputColumn.Source.VALUE));
    return FileColumns.of(fields, schema, Set.of());
  }

  /**
   * The columns to open in the files of one run of a section that is merged.
   *
   * @param values which of the wanted value columns
   */
  public FileColumns columns(SectionPlan section, int run, Set<Integer> values) {
    List<NestedField> fields = new ArrayList<>();
    Set<Integer> leaves = new HashSet<>();
    Set<Integer> carried = new HashSet<>();
    MergeRules rules = section.merging();
    for (int c = 0; c < section.classes().size(); c++) {
      if (section.carries(run, c)) {
        section.classes().get(c).values().stream().filter(values::contains).forEach(carried::add);
      }
      if (isPerRow(rules.classes().get(c).byRun(), run)) {
        leaves.add(section.classes().get(c).leaf());
      }
    }
    Set<Integer> keys = new HashSet<>();
    schema.sortKey().forEach(field -> keys.add(field.fieldId()));
    if (section.readsVersions()) {
      leaves.add(schema.version().fieldId());
      if (schema.ordering() != null) {
        carried.add(schema.ordering().fieldId());
      }
    }
    if (isPerRow(rules.written(), run)) {
      leaves.add(schema.written().fieldId());
    }
    if (isPerRow(rules.deleted(), run)) {
      leaves.add(schema.deleted().fieldId());
    }
    addWanted(fields, keys, carried);
    leaves.addAll(states(section, run, carried));
    return FileColumns.of(fields, schema, leaves);
  }

  private Set<Integer> states(SectionPlan section, int run, Set<Integer> values) {
    Set<Integer> states = new HashSet<>();
    for (NestedField value : schema.values()) {
      NestedField state = values.contains(value.fieldId()) ? schema.stateOf(value) : null;
      if (state != null && section.states().get(run).contains(state.fieldId())) {
        states.add(state.fieldId());
      }
    }
    return states;
  }

  private static boolean isPerRow(List<Presence> byRun, int run) {
    return byRun.get(run) == Presence.PER_ROW;
  }

  /** Field id of the first column of the sort key, which slices cut. */
  public int firstKey() {
    return schema.sortKey().get(0).fieldId();
  }

  /**
   * The rows of the files of a section that are worth opening. A key that is there at all is in the
   * only run of a section, so asking first would be one more request; of several runs few have it.
   */
  public RowChoice choice(SectionPlan section) {
    FileFilter filter = section.passedThrough() ? filters.onRows() : filters.onKeys();
    return new RowChoice(filter, section.slice(), firstKey(), section.runs().size() > 1);
  }

  public Set<Integer> outputIds(OutputColumn.Source source) {
    Set<Integer> ids = new HashSet<>();
    output.stream()
        .filter(column -> column.source() == source)
        .forEach(column -> ids.add(column.fieldId()));
    return ids;
  }

  /** The position of a stored column in the output. */
  public int position(int fieldId) {
    for (int i = 0; i < output.size(); i++) {
      if (output.get(i).fieldId() == fieldId) {
        return i;
      }
    }
    throw new IllegalArgumentException("column " + fieldId + " is not in the output");
  }

  public DataType[] outputTypes() {
    return output.stream().map(OutputColumn::type).toArray(DataType[]::new);
  }

  private void addWanted(List<NestedField> fields, Set<Integer> keys, Set<Integer> values) {
    schema.sortKey().stream().filter(field -> keys.contains(field.fieldId())).forEach(fields::add);
    schema.values().stream().filter(field -> values.contains(field.fieldId())).forEach(fields::add);
  }

  /** The stored types of the sort key. */
  public List<DataType> keyTypes() {
    List<DataType> types = new ArrayList<>();
    for (var field : FileColumns.of(schema.sortKey(), schema, Set.of()).schema().fields()) {
      types.add(field.dataType());
    }
    return types;
  }
}
