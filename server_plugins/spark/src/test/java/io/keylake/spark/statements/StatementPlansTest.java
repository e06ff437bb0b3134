package io.keylake.spark.statements;

import io.keylake.merge.TextCases;
import io.keylake.tables.KeylakeException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.parser.ParseException;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;
import org.apache.spark.sql.classic.SparkSession;
import org.apache.spark.sql.execution.CommandExecutionMode;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The cases of {@code tests/cases/statements/plans.txt}: the write that UPDATE, DELETE and MERGE
 * become, or the sentence that refuses them. Nothing is executed but what makes the tables.
 */
class StatementPlansTest {
  private static final Pattern NUMBER = Pattern.compile("#\\d+L?");
  private static final Pattern SNAPSHOT = Pattern.compile("\\b\\d{15,19}\\b");

  private static SparkSession session;

  @BeforeAll
  static void start(@TempDir Path warehouse) {
    session =
        SparkSession.builder()
            .master("local[1]")
            .config("spark.ui.enabled", "false")
            .config("spark.sql.extensions", "io.keylake.spark.KeylakeExtensions")
            .config("spark.sql.catalog.lake", "io.keylake.spark.KeylakeCatalog")
            .config("spark.sql.catalog.lake.type", "hadoop")
            .config("spark.sql.catalog.lake.warehouse", warehouse.toString())
            .config("spark.sql.defaultCatalog", "lake")
            .getOrCreate();
  }

  @AfterAll
  static void stop() {
    session.stop();
  }

  @Test
  void everyStatementIsPlannedAsItSays() {
    TextCases.check("statements", "plans.txt", StatementPlansTest::answer);
  }

  private static List<String> answer(List<String> input) {
    String statement = input.get(input.size() - 1);
    try {
      input.subList(0, input.size() - 1).forEach(session::sql);
      return lines(analyzed(statement));
    } catch (KeylakeException e) {
      return List.of("refused: " + e.sentence());
    }
  }

  private static LogicalPlan analyzed(String statement) {
    try {
      LogicalPlan parsed = session.sessionState().sqlParser().parsePlan(statement);
      return session.sessionState().executePlan(parsed, CommandExecutionMode.SKIP()).analyzed();
    } catch (ParseException e) {
      throw new AssertionError(statement, e);
    }
  }

  /**
   * Numbers of columns are those of their order in the plan, so that they are the same each time.
   */
  private static List<String> lines(LogicalPlan plan) {
    Map<String, String> numbers = new LinkedHashMap<>();
    Matcher matcher = NUMBER.matcher(plan.treeString());
    String text =
        matcher.replaceAll(
            found -> {
              String number = found.group().replace("L", "");
              return numbers.computeIfAbsent(number, each -> "#" + (numbers.size() + 1));
            });
    return new ArrayList<>(
        Arrays.asList(SNAPSHOT.matcher(text).replaceAll("<snapshot>").strip().split("\n")));
  }
}
