package io.keylake.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.KeylakeException.Kind;
import java.util.Arrays;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import org.apache.spark.SparkThrowable;
import org.junit.jupiter.api.Test;

/** Errors as Spark's clients read them; Python reads the same list of conditions. */
class KeylakeExceptionTest {
  @Test
  void theConditionsAreThoseThatPythonKnows() {
    Map<String, String> cases =
        StreamSupport.stream(CaseFiles.json("errors.json").spliterator(), false)
            .collect(
                Collectors.toMap(
                    each -> each.get("condition").textValue(),
                    each -> each.get("sqlstate").textValue()));
    assertEquals(
        cases,
        Arrays.stream(Kind.values()).collect(Collectors.toMap(Kind::condition, Kind::sqlState)));
  }

  @Test
  void anErrorIsAConditionOfSpark() {
    SparkThrowable thrown = new KeylakeException(Kind.BAD_ROWS, "the value is 'a\nb\r\nc'");
    assertEquals("KEYLAKE_BAD_ROWS", thrown.getCondition());
    assertEquals("22000", thrown.getSqlState());
    assertEquals(Map.of("sentence", "the value is 'a b  c'"), thrown.getMessageParameters());
  }

  @Test
  void aSentenceIsOneLineWithConditionAndState() {
    KeylakeException thrown = new KeylakeException(Kind.BAD_ROWS, "the value is 'a\nb\r\nc'");
    assertEquals("[KEYLAKE_BAD_ROWS] the value is 'a b  c' SQLSTATE: 22000", thrown.getMessage());
  }
}
