package io.keylake.tables;

import io.keylake.tables.KeylakeException.Kind;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.net.http.HttpTimeoutException;
import java.sql.SQLException;
import java.sql.SQLRecoverableException;
import java.sql.SQLTimeoutException;
import java.sql.SQLTransientException;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.RESTException;
import org.apache.iceberg.exceptions.ServiceFailureException;
import org.apache.iceberg.exceptions.ServiceUnavailableException;

/**
 * A part of the lake that does not answer for now, as a failure says it.
 *
 * @param part the catalog or the store
 * @param reason what it, or the way to it, said
 */
@GuestApi
public record NoAnswer(String part, String reason) {
  private static final String CATALOG = "the catalog";
  private static final String STORE = "the store";

  /**
   * Classes of SQL states: no connection, shut down or starting, too many connections or no disk.
   */
  private static final Set<String> CLASSES_OF_STATES = Set.of("08", "53", "57");

  /** SQLITE_BUSY, SQLITE_LOCKED, SQLITE_FULL. */
  private static final Set<Integer> CODES_OF_SQLITE = Set.of(5, 6, 13);

  /** Names of errors of clients that need not be on the class path. */
  private static final List<String> OF_CATALOGS =
      List.of("TTransportException", "org.apache.hadoop.hive.metastore.");

  private static final List<String> OF_STORES =
      List.of(
          "org.apache.hadoop.ipc.StandbyException",
          "org.apache.hadoop.ipc.RetriableException",
          "org.apache.hadoop.hdfs.server.namenode.SafeModeException",
          "org.apache.hadoop.hdfs.BlockMissingException",
          "software.amazon.awssdk.core.exception.SdkClientException",
          "software.amazon.awssdk.core.exception.ApiCallTimeoutException",
          "software.amazon.awssdk.core.exception.ApiCallAttemptTimeoutException");

  private static final Pattern STATUS = Pattern.compile("Status Code: (\\d{3})");

  /** The text of the client of AWS where nobody has told it who asks. */
  private static final String NO_CREDENTIALS = "Unable to load ";

  /**
   * The part that does not answer; empty for a failure of another kind, and for one that has a
   * sentence already.
   */
  public static Optional<NoAnswer> in(Throwable failure) {
    if (chain(failure).anyMatch(KeylakeException.class::isInstance)) {
      return Optional.empty();
    }
    Optional<NoAnswer> ofCatalog =
        chain(failure)
            .filter(NoAnswer::isOfCatalog)
            .map(each -> new NoAnswer(CATALOG, reason(each)))
            .findFirst();
    return ofCatalog.or(
        () ->
            chain(failure)
                .filter(each -> isOfStore(each) || isOfNetwork(each))
                .map(each -> new NoAnswer(STORE, reason(each)))
                .findFirst());
  }

  /** The error of something that was not done, or of which that is not known. */
  public KeylakeException error(String what, String state, String nextStep, Throwable failure) {
    return new KeylakeException(
        Kind.UNAVAILABLE,
        "%s: %s does not answer (%s); %s; see whether it runs and can be reached, and %s"
            .formatted(what, part, reason, state, nextStep),
        failure);
  }

  private static boolean isOfCatalog(Throwable each) {
    if (each instanceof SQLException sql) {
      String state = String.valueOf(sql.getSQLState());
      return sql instanceof SQLTransientException
          || sql instanceof SQLRecoverableException
          || sql instanceof SQLTimeoutException
          || (state.length() == 5 && CLASSES_OF_STATES.contains(state.substring(0, 2)))
          || (isNamed(each, List.of("org.sqlite."))
              && CODES_OF_SQLITE.contains(sql.getErrorCode() & 0xFF));
    }
    return each instanceof ServiceFailureException
        || each instanceof ServiceUnavailableException
        || each.getClass() == RESTException.class // its subclasses say what was answered
        || isNamed(each, OF_CATALOGS);
  }

  private static boolean isOfStore(Throwable each) {
    String said = String.valueOf(each.getMessage());
    if (isNamed(each, List.of("software.amazon.awssdk.")) && STATUS.matcher(said).find()) {
      Matcher status = STATUS.matcher(said);
      return status.find() && (status.group(1).startsWith("5") || status.group(1).equals("429"));
    }
    return isNamed(each, OF_STORES) && !said.startsWith(NO_CREDENTIALS);
  }

  private static boolean isOfNetwork(Throwable each) {
    return each instanceof SocketException
        || each instanceof SocketTimeoutException
        || each instanceof UnknownHostException
        || each instanceof HttpTimeoutException;
  }

  /** An error is, or extends, a class whose name has one of these parts. */
  private static boolean isNamed(Throwable error, List<String> parts) {
    return Stream.<Class<?>>iterate(error.getClass(), each -> each != null, Class::getSuperclass)
        .map(Class::getName)
        .filter(name -> !name.contains("parquet")) // its copy of Thrift reads files, not networks
        .anyMatch(name -> parts.stream().anyMatch(name::contains));
  }

  /** The reason in one line, from the first error that says something. */
  private static String reason(Throwable error) {
    if (error instanceof UnknownHostException) {
      return "host %s is not known".formatted(error.getMessage());
    }
    return chain(error)
        .map(Throwable::getMessage)
        .filter(each -> each != null && !each.isBlank())
        .map(each -> each.lines().findFirst().orElse("").strip())
        .findFirst()
        .orElse("no reason was given");
  }

  private static Stream<Throwable> chain(Throwable failure) {
    return Stream.iterate(failure, each -> each != null, Throwable::getCause);
  }
}
