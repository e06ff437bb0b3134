package io.keylake.spark.rest.http;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.NoAnswer;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.BadRequestException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.exceptions.CommitStateUnknownException;
import org.apache.iceberg.exceptions.ForbiddenException;
import org.apache.iceberg.exceptions.NamespaceNotEmptyException;
import org.apache.iceberg.exceptions.NoSuchNamespaceException;
import org.apache.iceberg.exceptions.NoSuchTableException;
import org.apache.iceberg.exceptions.NoSuchViewException;
import org.apache.iceberg.exceptions.UnprocessableEntityException;
import org.apache.iceberg.exceptions.ValidationException;
import org.apache.iceberg.rest.responses.ErrorResponse;
import org.apache.iceberg.rest.responses.ErrorResponseParser;

/**
 * Failures as answers in Iceberg's protocol: a status, the type by which clients know them, and one
 * sentence. An answer 500 to a change says that its outcome is not known, so that a client removes
 * no file that may be part of the table.
 */
public final class Failures {
  private record Known(Class<? extends RuntimeException> failure, int status) {}

  /** The first that fits counts. */
  private static final List<Known> KNOWN =
      List.of(
          new Known(NoSuchTableException.class, 404),
          new Known(NoSuchViewException.class, 404),
          new Known(NoSuchNamespaceException.class, 404),
          new Known(AlreadyExistsException.class, 409),
          new Known(NamespaceNotEmptyException.class, 409),
          new Known(CommitFailedException.class, 409),
          new Known(UnprocessableEntityException.class, 422),
          new Known(ForbiddenException.class, 403),
          new Known(BadRequestException.class, 400),
          new Known(ValidationException.class, 400),
          new Known(UnsupportedOperationException.class, 406),
          new Known(IllegalArgumentException.class, 400));

  private static final String UNKNOWN_OUTCOME = CommitStateUnknownException.class.getSimpleName();

  private Failures() {}

  /**
   * The answer to a request that has failed.
   *
   * @param isRead the request changes nothing
   */
  public static Answer answer(Exception failure, boolean isRead) {
    if (failure instanceof RequestRefused refused) {
      return answer(refused.status(), refused.type(), refused.sentence());
    }
    if (failure instanceof KeylakeException ours) {
      return ofOurs(ours);
    }
    if (failure instanceof CommitStateUnknownException) {
      return unknownOutcome(failure);
    }
    return KNOWN.stream()
        .filter(each -> each.failure().isInstance(failure))
        .findFirst()
        .map(each -> answer(each.status(), each.failure().getSimpleName(), firstLine(failure)))
        .orElseGet(() -> ofOthers(failure, isRead));
  }

  private static Answer ofOthers(Exception failure, boolean isRead) {
    if (NoAnswer.in(failure).isPresent() && isRead) {
      return answer(
          503,
          "ServiceUnavailableException",
          NoAnswer.in(failure)
              .get()
              .error("the request was not answered", "nothing was changed", "try again", failure)
              .sentence());
    }
    return isRead
        ? answer(
            500,
            "ServiceFailureException",
            "the catalog could not answer: %s; the log of the server says more"
                .formatted(firstLine(failure)))
        : unknownOutcome(failure);
  }

  private static Answer unknownOutcome(Exception failure) {
    return answer(
        500,
        UNKNOWN_OUTCOME,
        "whether the change was made is not known, because the catalog does not say it (%s); look at what is there before you make it again"
            .formatted(
                NoAnswer.in(failure).map(NoAnswer::reason).orElseGet(() -> firstLine(failure))));
  }

  private static Answer ofOurs(KeylakeException failure) {
    String sentence = failure.sentence();
    return switch (failure.kind()) {
      case NOT_FOUND, SNAPSHOT_EXPIRED -> answer(404, "NoSuchTableException", sentence);
      case TABLE_EXISTS -> answer(409, "AlreadyExistsException", sentence);
      case COMMIT_CONFLICT -> answer(409, "CommitFailedException", sentence);
      case ACCESS_DENIED -> answer(403, "ForbiddenException", sentence);
      case UNSUPPORTED -> answer(406, "UnsupportedOperationException", sentence);
      case UNAVAILABLE -> answer(503, "ServiceUnavailableException", sentence);
      case OUTCOME_UNKNOWN -> answer(500, UNKNOWN_OUTCOME, sentence);
      case STORE_FAILED, FOREIGN_COMMIT -> answer(500, "ServiceFailureException", sentence);
      case DEFINITION, SCHEMA_MISMATCH, BAD_ROWS, VERSION_MISSING, NOTHING_TO_DO, NOT_KEYED ->
          answer(400, "BadRequestException", sentence);
    };
  }

  private static Answer answer(int status, String type, String sentence) {
    ErrorResponse error =
        ErrorResponse.builder().responseCode(status).withType(type).withMessage(sentence).build();
    return new Answer(status, ErrorResponseParser.toJson(error), null);
  }

  /** The first line that a failure, or what caused it, says. */
  public static String firstLine(Throwable failure) {
    return Stream.iterate(failure, each -> each != null, Throwable::getCause)
        .filter(each -> !(each instanceof UncheckedIOException)) // its text has the name of a class
        .map(Throwable::getMessage)
        .filter(each -> each != null && !each.isBlank())
        .map(each -> each.lines().findFirst().orElse("").strip())
        .findFirst()
        .orElse(failure.getClass().getSimpleName());
  }
}
