package io.keylake.spark.rest.http;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import java.sql.SQLTransientConnectionException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.jdbc.UncheckedSQLException;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.rest.responses.ErrorResponseParser;
import org.junit.jupiter.api.Test;

/** Failures as clients see them: a change that may be made is never told as one that is not. */
class FailuresTest {
  private static final RuntimeException AWAY =
      new UncheckedSQLException(
          new SQLTransientConnectionException("the database\nis away"), "Failed to ask");

  private static ErrorResponse answer(RuntimeException failure, boolean isRead) {
    Answer answer = Failures.answer(failure, isRead);
    ErrorResponse error = ErrorResponseParser.fromJson(String.valueOf(answer.json()));
    assertEquals(answer.status(), error.code());
    assertFalse(error.message().contains("\n"), error.message());
    return error;
  }

  private static void assertUnknown(RuntimeException failure) {
    ErrorResponse error = answer(failure, false);
    assertEquals(500, error.code());
    assertEquals("CommitStateUnknownException", error.type());
    assertTrue(error.message().contains("is not known"), error.message());
  }

  @Test
  void aCatalogThatDoesNotAnswer() {
    ErrorResponse read = answer(AWAY, true);
    assertEquals(503, read.code());
    assertTrue(
        read.message().contains("the catalog does not answer (the database)"), read.message());
    assertUnknown(AWAY);
  }

  @Test
  void anOutcomeThatIsNotKnown() {
    assertUnknown(new CommitStateUnknownException(new IllegalStateException("lost")));
    assertUnknown(new IllegalStateException("a fault of ours"));
    assertEquals(500, answer(new IllegalStateException("a fault of ours"), true).code());
  }

  @Test
  void failuresOfOurs() {
    for (Kind kind : Kind.values()) {
      ErrorResponse error = answer(new KeylakeException(kind, "a sentence"), false);
      assertEquals("a sentence", error.message());
      assertTrue(error.code() >= 400, kind.name());
    }
    assertEquals(409, answer(new CommitFailedException("another was first"), false).code());
  }
}
