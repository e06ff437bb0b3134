package io.keylake.tables;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.keylake.tables.KeylakeException.Kind;
import java.io.EOFException;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.ConnectException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.sql.SQLException;
import java.util.Optional;
import org.apache.iceberg.exceptions.ForbiddenException;
import org.apache.iceberg.exceptions.RESTException;
import org.apache.iceberg.exceptions.ServiceFailureException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;
import org.apache.iceberg.jdbc.UncheckedSQLException;
import org.junit.jupiter.api.Test;

/**
 * Failures of catalogs and stores that do not answer, and others that must not be taken for one.
 */
class NoAnswerTest {
  private static Optional<String> part(Throwable failure) {
    return NoAnswer.in(failure).map(NoAnswer::part);
  }

  private static UncheckedSQLException sql(String said, String state) {
    return new UncheckedSQLException(
        new SQLException(said, state, new EOFException()), "Failed to load table");
  }

  @Test
  void aConnectionToADatabaseThatIsLost() {
    NoAnswer found = NoAnswer.in(sql("This connection has been closed.", "08003")).orElseThrow();
    assertEquals(new NoAnswer("the catalog", "This connection has been closed."), found);
    assertEquals(Optional.of("the catalog"), part(sql("the system is starting up", "57P03")));
    assertEquals(Optional.of("the catalog"), part(sql("too many clients already", "53300")));
    assertEquals(Optional.empty(), part(sql("value too long for type", "22001")));
    assertEquals(Optional.empty(), part(sql("no permission", "42501")));
  }

  @Test
  void aRestCatalog() {
    RESTException refused =
        new RESTException(new ConnectException("Connection refused"), "Error occurred");
    assertEquals(Optional.of("the catalog"), part(refused));
    assertEquals(Optional.of("the catalog"), part(new ServiceFailureException("Server error")));
    assertEquals(Optional.of("the catalog"), part(new ServiceUnavailableException("Later")));
    assertEquals(Optional.empty(), part(new ForbiddenException("Not yours")));
  }

  @Test
  void aStore() {
    assertEquals(
        Optional.of("the store"), part(new UncheckedIOException(new SocketTimeoutException())));
    assertEquals(
        Optional.of(new NoAnswer("the store", "host minio is not known")),
        NoAnswer.in(new RuntimeException(new UnknownHostException("minio"))));
    assertEquals(Optional.empty(), part(new IOException("No space left on device")));
    assertEquals(Optional.empty(), part(new EOFException()));
  }

  @Test
  void whatIsNotAnsweredIsNoDamage() {
    KeylakeException told =
        (KeylakeException) StoreFailure.loading("lake.f.t", sql("The connection failed", "08001"));
    assertEquals(Kind.UNAVAILABLE, told.kind());
    assertEquals(
        "the metadata of lake.f.t could not be read: the catalog does not answer (The connection failed); nothing was changed; see whether it runs and can be reached, and try again",
        told.sentence());
    assertEquals(Optional.empty(), NoAnswer.in(new RuntimeException(told))); // it has its sentence
  }

  @Test
  void aFullDiskMayPass() {
    KeylakeException told =
        (KeylakeException)
            StoreFailure.writing("lake.f.t", new IOException("No space left on device"));
    assertEquals(Kind.UNAVAILABLE, told.kind());
  }
}
