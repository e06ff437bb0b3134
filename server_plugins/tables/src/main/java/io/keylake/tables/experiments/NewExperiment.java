package io.keylake.tables.experiments;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.commits.Attempt;
import io.keylake.tables.commits.Change;
import io.keylake.tables.commits.CommitSummary;
import io.keylake.tables.commits.Overwrite;
import io.keylake.tables.history.WriteLabels;
import io.keylake.tables.history.WriteSummary;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.schema.SchemaChange;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import org.apache.iceberg.OverwriteFiles;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.types.Types.NestedField;
import org.jspecify.annotations.Nullable;

/**
 * Begins an experiment, in one commit that opens no data file:
 *
 * <ol>
 *   <li>Its columns and their version leaves are added to the schema.
 *   <li>A property names them, so that main does not show them.
 *   <li>A branch is made, and its first commit leaves out all files that it has from main.
 * </ol>
 *
 * @param columns to add
 * @param without names of columns of main that it does not show
 */
record NewExperiment(String name, List<ColumnChange.Add> columns, List<String> without)
    implements Change {
  /** The names that every engine can read behind the name of a table. */
  private static final Pattern NAME = Pattern.compile("\\w{1,100}");

  NewExperiment {
    columns = List.copyOf(columns);
    without = List.copyOf(without);
  }

  @Override
  public void addTo(Attempt attempt) {
    Table table = attempt.transaction().table();
    KeyedSchema main = KeyedSchema.of(table);
    check(table);
    List<Integer> dropped = without.stream().map(column -> droppable(table, main, column)).toList();
    SchemaChange.addTo(attempt.transaction(), List.copyOf(columns));
    Experiment experiment = new Experiment(name, added(table.schema()), dropped);
    attempt
        .transaction()
        .updateProperties()
        .set(experiment.property(), experiment.toJson())
        .commit();
    attempt.references().createBranch(experiment.branch()).commit();
    OverwriteFiles nothing =
        attempt.transaction().newOverwrite().overwriteByRowFilter(Expressions.alwaysTrue());
    WriteSummary summary =
        new WriteSummary(
            WriteSummary.CREATE_EXPERIMENT,
            0,
            null,
            null,
            columns.stream().map(column -> column.path().get(0)).toList(),
            WriteLabels.NONE);
    attempt.commit(
        experiment.branch(),
        nothing,
        parent ->
            CommitSummary.of(summary.properties(true))
                .with(WriteSummary.REPLACES, Overwrite.json(table, Expressions.alwaysTrue()))
                .anew());
  }

  private void check(Table table) {
    if (!NAME.matcher(name).matches()) {
      throw new KeylakeException(
          DEFINITION,
          "the name of an experiment is '%s'; use letters, digits and '_', at most 100"
              .formatted(name));
    }
    if (columns.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "experiment '%s' of table %s adds no column; name at least one in add"
              .formatted(name, table.name()));
    }
    String branch = Experiment.BRANCH + name;
    if (table.refs().containsKey(branch)) {
      boolean isExperiment = Experiment.named(table.properties(), name) != null;
      throw new KeylakeException(
          DEFINITION,
          isExperiment
              ? "table %s has an experiment '%s' already; open it, drop it, or take another name"
                  .formatted(table.name(), name)
              : "table %s has a branch or tag '%s', the name that the branch of experiment '%s' would get; take another name"
                  .formatted(table.name(), branch, name));
    }
    for (ColumnChange.Add column : columns) {
      if (column.path().size() > 1) {
        throw new KeylakeException(
            DEFINITION,
            "experiment '%s' of table %s adds '%s', a member of a struct; an experiment adds whole columns"
                .formatted(name, table.name(), String.join(".", column.path())));
      }
    }
  }

  private int droppable(Table table, KeyedSchema main, String column) {
    NestedField field = main.visible().caseInsensitiveFindField(column);
    if (field == null || main.visible().asStruct().field(field.name()) == null) {
      throw new KeylakeException(
          SCHEMA_MISMATCH,
          "experiment '%s' drops '%s', which is no column of table %s; its columns are %s"
              .formatted(name, column, table.name(), names(main)));
    }
    boolean isKey = main.spec().key().contains(field.name());
    if (isKey || field.name().equals(main.spec().ordering())) {
      throw new KeylakeException(
          DEFINITION,
          "%s column '%s' of table %s is part of each row and cannot be dropped in experiment '%s'; leave it out of drop"
              .formatted(isKey ? "key" : "ordering", field.name(), table.name(), name));
    }
    return field.fieldId();
  }

  private static List<String> names(KeyedSchema main) {
    return main.visible().columns().stream().map(NestedField::name).toList();
  }

  private List<Integer> added(Schema schema) {
    List<Integer> ids = new ArrayList<>();
    for (ColumnChange.Add column : columns) {
      NestedField field = schema.asStruct().field(column.path().get(0));
      ids.add(Objects.requireNonNull(field, "was added").fieldId());
    }
    return ids;
  }

  /** Whatever came in between, it is made again upon that. */
  @Override
  public @Nullable KeylakeException lost(String why) {
    return null;
  }
}
