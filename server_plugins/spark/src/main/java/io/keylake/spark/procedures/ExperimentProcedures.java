package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;
import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.experiments.Experiments;
import io.keylake.tables.schema.ChangesJson;
import io.keylake.tables.schema.ColumnChange;
import io.keylake.tables.spec.Experiment;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableDefinition;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Objects;
import java.util.function.BiConsumer;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Table;
import org.apache.iceberg.spark.SparkSchemaUtil;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.types.StructType;

/** Experiments: columns of their own that main does not show. */
final class ExperimentProcedures {
  /** An experiment, with the definitions of what it reads and writes. */
  private record ExperimentRow(
      String experiment, List<String> columns, List<String> dropped, String reads, String writes) {}

  private final TableArgument tables;

  ExperimentProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    return List.of(
        LocalProcedure.of(
            "create_experiment",
            List.of(
                LocalProcedure.required("table"),
                LocalProcedure.required("experiment"),
                LocalProcedure.required("add"),
                LocalProcedure.optional("drop")),
            ExperimentRow.class,
            this::created),
        LocalProcedure.of(
            "experiments",
            List.of(LocalProcedure.required("table")),
            ExperimentRow.class,
            arguments -> {
              Table table = tables.load(arguments);
              return new Experiments(table)
                  .all().stream().map(each -> row(arguments, table, each)).toList();
            }),
        ended("drop_experiment", Experiments::drop),
        ended("promote_experiment", Experiments::promote));
  }

  private LocalProcedure ended(String procedure, BiConsumer<Experiments, String> end) {
    return LocalProcedure.of(
        procedure,
        List.of(LocalProcedure.required("table"), LocalProcedure.required("experiment")),
        ExperimentRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          String name = arguments.requiredText("experiment");
          ExperimentRow row = row(arguments, table, new Experiments(table).found(name));
          end.accept(new Experiments(table), name);
          return List.of(row);
        });
  }

  private List<ExperimentRow> created(Arguments arguments) {
    Table table = tables.load(arguments);
    String drop = arguments.text("drop");
    Experiment experiment =
        new Experiments(table)
            .create(
                arguments.requiredText("experiment"),
                added(arguments.requiredText("add")),
                drop == null ? List.of() : dropped(drop));
    return List.of(row(arguments, table, experiment));
  }

  /** Columns as CREATE TABLE has them, or as the SDK sends changes. */
  private static List<ColumnChange.Add> added(String said) {
    List<ColumnChange.Add> added = new ArrayList<>();
    if (said.stripLeading().startsWith("[")) {
      for (ColumnChange change : ChangesJson.read(said)) {
        added.add((ColumnChange.Add) change);
      }
      return added;
    }
    Schema columns;
    try {
      columns = SparkSchemaUtil.convert(StructType.fromDDL(said));
    } catch (Exception e) { // Scala declares none of those it throws
      throw new KeylakeException(
          DEFINITION,
          "add is '%s', which are no columns (%s); write them as in CREATE TABLE: 'score DOUBLE, tags ARRAY<STRING>'"
              .formatted(said, String.valueOf(e.getMessage()).lines().findFirst().orElse("")));
    }
    for (NestedField field : columns.columns()) {
      added.add(new ColumnChange.Add(List.of(field.name()), field.type(), field.doc(), null));
    }
    return added;
  }

  /** Names with commas between them, or as a list in JSON. */
  private static List<String> dropped(String said) {
    if (said.stripLeading().startsWith("[")) {
      List<String> names = new ArrayList<>();
      SpecJson.parse("drop", said).forEach(each -> names.add(each.asText()));
      return names;
    }
    return Arrays.stream(said.split(","))
        .map(String::strip)
        .filter(each -> !each.isEmpty())
        .toList();
  }

  private ExperimentRow row(Arguments arguments, Table table, Experiment experiment) {
    String name = quoted(tables.identifier(arguments));
    KeyedSchema read = KeyedSchema.withExperiments(table, List.of(experiment));
    KeyedSchema written = KeyedSchema.ofExperiment(table, experiment);
    return new ExperimentRow(
        experiment.name(),
        names(table, experiment.added()),
        names(table, experiment.dropped()),
        TableDefinition.describe(table, name, read),
        TableDefinition.describe(table, name, written));
  }

  /** A column of main may have been dropped since. */
  private static List<String> names(Table table, List<Integer> ids) {
    return ids.stream().map(table.schema()::findColumnName).filter(Objects::nonNull).toList();
  }
}
