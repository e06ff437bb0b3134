package io.keylake.spark.procedures;

import io.keylake.spark.check.Copies;
import io.keylake.spark.check.Level;
import io.keylake.spark.check.TableCheck;
import io.keylake.spark.check.UnreadableMetadata;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.check.FileKind;
import io.keylake.tables.check.Finding;
import io.keylake.tables.check.NeededFile;
import io.keylake.tables.check.RepairPlan;
import io.keylake.tables.check.RepairStep;
import io.keylake.tables.check.TableFiles;
import io.keylake.tables.check.Uses;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableUtil;
import org.apache.iceberg.io.FileIO;
import org.apache.spark.SparkContext;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.jspecify.annotations.Nullable;

/** Checks of all files of a table, the plan of a repair, and what of it can be done at once. */
final class CheckProcedures {
  /**
   * A line of a check: the files of a kind that were looked at, and then what was found.
   *
   * @param finding null in lines about all files of a kind
   * @param rows of data files, superseded ones and tombstones included; of a finding those that
   *     cannot be read
   * @param buckets of data files; of a finding those that cannot be read as a whole
   */
  private record CheckedRow(
      String kind,
      @Nullable String finding,
      @Nullable String path,
      @Nullable String column,
      @Nullable Integer rowGroup,
      @Nullable Integer page,
      @Nullable String detail,
      long files,
      long bytes,
      long rows,
      List<String> buckets,
      List<String> branches,
      List<String> tags,
      List<Long> snapshots,
      @Nullable String nextStep) {}

  /** A step of a repair. */
  private record StepRow(
      String path,
      String finding,
      String way,
      List<String> statements,
      String why,
      RepairStep.@Nullable Lost lost) {}

  /** A file that was put back. */
  private record RepairedRow(String path, long bytes, boolean repaired) {}

  /**
   * A metadata file that was written again.
   *
   * @param source the metadata file that it has the content of; null where it was in memory
   * @param snapshotId the newest commit of main; null for none
   */
  private record RestoredRow(String path, @Nullable String source, @Nullable Long snapshotId) {}

  private final TableArgument tables;

  CheckProcedures(TableArgument tables) {
    this.tables = tables;
  }

  List<LocalProcedure> all() {
    ProcedureParameter table = LocalProcedure.required("table");
    return List.of(
        LocalProcedure.of(
            "check",
            List.of(table, LocalProcedure.optional("level")),
            CheckedRow.class,
            this::check),
        LocalProcedure.of(
            "repair_plan",
            List.of(table, LocalProcedure.optional("level"), LocalProcedure.optional("copy")),
            StepRow.class,
            this::plan),
        LocalProcedure.of(
            "repair",
            List.of(table, LocalProcedure.required("copy"), LocalProcedure.optional("level")),
            RepairedRow.class,
            this::repair),
        LocalProcedure.of(
            "restore_metadata",
            List.of(table, LocalProcedure.optional("metadata")),
            RestoredRow.class,
            this::restoreMetadata));
  }

  private static SparkContext spark() {
    return SparkSession.active().sparkContext();
  }

  private List<CheckedRow> check(Arguments arguments) {
    Level level = Level.of(arguments.text("level"));
    return either(
        arguments,
        table -> rows(TableCheck.of(spark(), table, level)),
        damaged -> List.of(unreadable(damaged)));
  }

  /** The answer of a table, or of its metadata file where that cannot be read. */
  private <T> T either(
      Arguments arguments, Function<Table, T> opened, Function<UnreadableMetadata, T> unreadable) {
    Table table;
    try {
      table = tables.load(arguments);
    } catch (KeylakeException e) {
      try (FileIO store = tables.catalog().store()) {
        return unreadable.apply(UnreadableMetadata.of(e, store));
      }
    }
    return opened.apply(table);
  }

  /** The line of a table that cannot be opened: its catalog names a file that cannot be read. */
  private static CheckedRow unreadable(UnreadableMetadata damaged) {
    return new CheckedRow(
        word(FileKind.METADATA),
        Finding.Kind.UNREADABLE.word(),
        damaged.path(),
        null,
        null,
        null,
        damaged.said(),
        1,
        0,
        0,
        List.of(),
        List.of(),
        List.of(),
        List.of(),
        nextStep(damaged.step(null)));
  }

  private static String word(FileKind kind) {
    return kind.name().toLowerCase(Locale.ROOT);
  }

  private static List<CheckedRow> rows(TableCheck checked) {
    TableFiles files = checked.files();
    List<CheckedRow> rows = new ArrayList<>();
    new TreeMap<>(files.amounts())
        .forEach(
            (kind, amount) ->
                rows.add(
                    new CheckedRow(
                        word(kind),
                        null,
                        null,
                        null,
                        null,
                        null,
                        null,
                        amount.files(),
                        amount.bytes(),
                        amount.rows(),
                        kind == FileKind.DATA ? buckets(files) : List.of(),
                        List.of(),
                        List.of(),
                        List.of(),
                        null)));
    Map<String, String> nextSteps =
        RepairPlan.of(files, checked.findings(), Set.of()).stream()
            .collect(Collectors.toMap(RepairStep::path, CheckProcedures::nextStep));
    checked.findings().forEach(finding -> rows.add(row(files, finding, nextSteps)));
    return rows;
  }

  private static List<String> buckets(TableFiles files) {
    return files.files().stream()
        .filter(file -> file.kind() == FileKind.DATA)
        .map(NeededFile::bucket)
        .distinct()
        .sorted()
        .toList();
  }

  private static CheckedRow row(TableFiles files, Finding finding, Map<String, String> nextSteps) {
    NeededFile file = files.file(finding.path());
    Uses uses = files.uses(finding.path());
    boolean isOfRows = file != null && files.kind(finding.path()) != FileKind.STATISTICS;
    return new CheckedRow(
        word(files.kind(finding.path())),
        finding.kind().word(),
        finding.path(),
        finding.column(),
        finding.rowGroup(),
        finding.page(),
        finding.detail(),
        1,
        Math.max(files.bytes(finding.path()), 0),
        file == null ? 0 : file.rows(),
        isOfRows && file != null ? List.of(file.bucket()) : List.of(),
        uses.branches(),
        uses.tags(),
        uses.snapshots(),
        nextSteps.get(finding.path()));
  }

  private static String nextStep(RepairStep step) {
    return switch (step.way()) {
      case PUT_BACK, BACKUP -> "Put the file back from a backup.";
      case RESTORE_METADATA ->
          "Put the file back from a backup, or have it written again: repair_plan() says with what.";
      case RESTORE_FILES ->
          "Put the file back from a backup, or add its rows again: repair_plan() says how.";
      case ROLLBACK ->
          "Put the file back from a backup, or go back to an older commit: repair_plan() says which.";
      case DROP_FILES ->
          "Put the file back from a backup, or take it out and send its rows again: repair_plan() says which.";
      case NONE -> "Nothing has to be done: %s.".formatted(step.why());
    };
  }

  private List<StepRow> plan(Arguments arguments) {
    String copy = arguments.text("copy");
    Level level = Level.of(arguments.text("level"));
    List<RepairStep> steps =
        either(
            arguments,
            table -> steps(TableCheck.of(spark(), table, level), copy),
            damaged -> List.of(damaged.step(copy)));
    return steps.stream().map(step -> row(arguments, step, copy)).toList();
  }

  private static List<RepairStep> steps(TableCheck checked, @Nullable String copy) {
    Map<String, String> copies = copy == null ? Map.of() : Copies.of(spark(), checked, copy);
    return RepairPlan.of(checked.files(), checked.findings(), copies.keySet());
  }

  private StepRow row(Arguments arguments, RepairStep step, @Nullable String copy) {
    List<String> statements =
        step.way() == RepairStep.Way.PUT_BACK
            ? List.of(statement(arguments, "repair", Map.of("copy", String.valueOf(copy))))
            : step.calls().stream()
                .map(call -> statement(arguments, call.procedure(), call.arguments()))
                .toList();
    return new StepRow(
        step.path(), step.finding().word(), step.way().word(), statements, step.why(), step.lost());
  }

  /** A call as SQL, with its names and literals quoted. */
  private String statement(Arguments of, String procedure, Map<String, Object> arguments) {
    Map<String, Object> all = new TreeMap<>(arguments);
    String given =
        all.entrySet().stream()
            .map(each -> ", %s => %s".formatted(each.getKey(), literal(each.getValue())))
            .collect(Collectors.joining());
    return "CALL %s.system.%s(table => %s%s)"
        .formatted(
            tables.catalogInSql(),
            procedure,
            literal(TableArgument.quoted(tables.identifier(of))),
            given);
  }

  private static String literal(Object value) {
    return value instanceof String text
        ? "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
        : String.valueOf(value);
  }

  /** Puts back all damaged files that have a copy, and checks them again. */
  private List<RepairedRow> repair(Arguments arguments) {
    String folder = arguments.requiredText("copy");
    Level level = Level.of(arguments.text("level"));
    return either(
        arguments,
        table -> repaired(arguments, TableCheck.of(spark(), table, level), folder, level),
        damaged -> repaired(arguments, damaged, folder));
  }

  private List<RepairedRow> repaired(
      Arguments arguments, TableCheck before, String folder, Level level) {
    Map<String, String> copies = Copies.of(spark(), before, folder);
    Table table = before.files().table();
    copies.forEach((path, copy) -> Copies.putBack(table.io(), copy, path));
    Set<String> damaged = new HashSet<>();
    TableCheck.of(spark(), tables.load(arguments), level)
        .findings()
        .forEach(finding -> damaged.add(finding.path()));
    return copies.keySet().stream()
        .sorted()
        .map(
            path ->
                new RepairedRow(
                    path, table.io().newInputFile(path).getLength(), !damaged.contains(path)))
        .toList();
  }

  private List<RepairedRow> repaired(
      Arguments arguments, UnreadableMetadata damaged, String folder) {
    String copy = damaged.copy(folder);
    if (copy == null) {
      return List.of();
    }
    Copies.putBack(damaged.io(), copy, damaged.path());
    tables.load(arguments);
    long bytes = damaged.io().newInputFile(damaged.path()).getLength();
    return List.of(new RepairedRow(damaged.path(), bytes, true));
  }

  /** Writes the metadata file again: of what is in memory, or of the file that is named. */
  private List<RestoredRow> restoreMetadata(Arguments arguments) {
    String named = arguments.text("metadata");
    String source =
        either(
            arguments,
            table -> {
              UnreadableMetadata.restore(table);
              return null;
            },
            damaged -> damaged.restore(named));
    Table table = tables.load(arguments);
    Snapshot head = table.currentSnapshot();
    return List.of(
        new RestoredRow(
            TableUtil.metadataFileLocation(table),
            source,
            head == null ? null : head.snapshotId()));
  }
}
