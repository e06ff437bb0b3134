package io.keylake.tables;

import io.keylake.tables.KeylakeException.Kind;
import java.io.EOFException;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.io.UncheckedIOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.file.NoSuchFileException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;

/**
 * Failures of the store, as one sentence: which file or table, why, what is as before, what to do.
 * Spark passes on errors of tasks as they are if they are error conditions, and as traces
 * otherwise; so they become ours where files are read and written.
 */
@GuestApi
public final class StoreFailure {
  /** A sign in what systems say of the disk or the store, its meaning, and what helps. */
  private record Meaning(String sign, String why, String help, Kind kind) {
    Meaning(String sign, String why, String help) {
      this(sign, why, help, Kind.STORE_FAILED);
    }
  }

  private static final String MEND = "mend what is wrong there";
  private static final String MAY_NOT = "the server may not do so";
  private static final String PERMIT = "give the user of the server the permission";

  private static final List<Meaning> MEANINGS =
      List.of(
          new Meaning("No space left on device", "the disk is full", "make room", Kind.UNAVAILABLE),
          new Meaning("Disk quota exceeded", "the disk is full", "make room", Kind.UNAVAILABLE),
          new Meaning("Read-only file system", "the disk is read-only", "make it writable"),
          new Meaning("Permission denied", MAY_NOT, PERMIT),
          new Meaning("AccessDenied", MAY_NOT, PERMIT),
          new Meaning("Status Code: 403", MAY_NOT, "correct its keys, or give them the permission"),
          new Meaning(
              "Unable to load credentials",
              "the server has no keys for the store",
              "give it some (s3.access-key-id and s3.secret-access-key of the catalog)"),
          new Meaning(
              "Unable to load region",
              "the server does not know the region of the store",
              "give it (client.region of the catalog)"));

  private StoreFailure() {}

  /** The error for a file of a keyed table that could not be read. */
  public static RuntimeException reading(String location, Exception failure) {
    return reading(
        location,
        "go back to a commit without it (rollback), or take it out of the table (drop_files)",
        failure);
  }

  /** The error for a file of a plain Iceberg table that could not be read. */
  public static RuntimeException readingPlain(String location, Exception failure) {
    return reading(location, "or go back to a snapshot without it (rollback_to_snapshot)", failure);
  }

  private static RuntimeException reading(
      String location, String withoutBackup, Exception failure) {
    return noAnswer(
            "file %s could not be read".formatted(location),
            "nothing was changed",
            "read again",
            failure)
        .orElseGet(() -> unreadable(location, withoutBackup, failure));
  }

  private static RuntimeException unreadable(
      String location, String withoutBackup, Exception failure) {
    if (!isOfTheStore(failure)) {
      return unchecked(failure);
    }
    boolean isGone = isGone(failure);
    if (isGone || isDamage(failure)) {
      return told(
          "file %s is %s; nothing was changed; put it back from a backup, %s"
              .formatted(
                  location,
                  isGone ? "not there" : "damaged (%s)".formatted(root(failure)),
                  withoutBackup),
          failure);
    }
    return told(
        "file %s could not be read: %s; nothing was changed; %s and read again"
            .formatted(location, why(failure), help(failure)),
        failure);
  }

  /** The error for keys that were too many for memory and could not be sorted on the local disk. */
  public static RuntimeException sorting(String directory, Exception failure) {
    if (!isOfTheStore(failure)) {
      return unchecked(failure);
    }
    return told(
        "equality deletes could not be sorted in %s: %s; nothing was changed; %s and try again"
            .formatted(
                directory,
                isGone(failure) ? "it is not there" : why(failure),
                meaning(failure).map(Meaning::help).orElse("mend the disk of spark.local.dir")),
        failure);
  }

  /** The store has said why it failed, or its client has asked it often enough. */
  public static boolean isAnswered(Exception failure) {
    return NoAnswer.in(failure).isPresent()
        || meaning(failure).isPresent()
        || chain(failure).anyMatch(StoreFailure::isOfAws);
  }

  private static boolean isOfAws(Throwable failure) {
    return failure.getClass().getName().startsWith("software.amazon.awssdk.");
  }

  /** The error for a table whose metadata could not be read. */
  public static RuntimeException loading(String table, Exception failure) {
    return failed(
        "the metadata of %s could not be read".formatted(table),
        "nothing was changed",
        isGone(failure) ? "put the file back from a backup, or see repair_plan," : help(failure),
        "try again",
        failure);
  }

  /** The error for a table whose manifests could not be read. */
  public static RuntimeException listing(String table, Exception failure) {
    return isOfTheStore(failure) || !isGarbled(failure)
        ? loading(table, failure)
        : told(
            "the manifests of %s are damaged (%s); nothing was changed; put them back from a backup, or go back to a commit without them (rollback); check says which they are"
                .formatted(table, root(failure)),
            failure);
  }

  /** The failure is one that readers of garbled bytes throw, and nothing else explains it. */
  private static boolean isGarbled(Exception failure) {
    return chain(failure).noneMatch(KeylakeException.class::isInstance)
        && chain(failure)
            .anyMatch(
                each ->
                    each instanceof IllegalArgumentException
                        || each instanceof IndexOutOfBoundsException
                        || each instanceof NegativeArraySizeException
                        || each instanceof NullPointerException
                        || each instanceof ClassCastException
                        || each.getClass().getName().contains(".avro."));
  }

  /** The error for a call whose catalog or store does not answer; others are as they were. */
  public static RuntimeException calling(String procedure, RuntimeException failure) {
    return noAnswer(
            "procedure %s did not come to its end".formatted(procedure),
            "whether it has changed anything is not known, and history() tells",
            "call it again",
            failure)
        .orElse(failure);
  }

  /** The error for a question to a catalog that does not answer; others are as they were. */
  public static RuntimeException asking(String catalog, RuntimeException failure) {
    return noAnswer(
            "catalog %s could not be read".formatted(catalog),
            "nothing was changed",
            "try again",
            failure)
        .orElse(failure);
  }

  /** The error for files of a table that could not be written, so that nothing was committed. */
  public static RuntimeException writing(String table, Exception failure) {
    return failed(
        "files of %s could not be written".formatted(table),
        "the table is as before",
        help(failure),
        "write again",
        failure);
  }

  /** The error for a place to which the rows of a table could not be published. */
  public static RuntimeException publishing(String location, Exception failure) {
    return failed(
        "nothing was published to %s".formatted(location),
        "what was published before is as it was",
        meaning(failure).map(Meaning::help).orElse(MEND),
        "publish again",
        failure);
  }

  /**
   * The error for what failed because a part of the lake does not answer, or because of the store;
   * others are as they were.
   *
   * @param help for a failure of the store, before the next step
   */
  private static RuntimeException failed(
      String what, String state, String help, String nextStep, Exception failure) {
    return noAnswer(what, state, nextStep, failure)
        .orElseGet(
            () ->
                isOfTheStore(failure)
                    ? told(
                        "%s: %s; %s; %s and %s"
                            .formatted(what, why(failure), state, help, nextStep),
                        failure)
                    : unchecked(failure));
  }

  /** The error for a part of the lake that does not answer; empty for other failures. */
  private static Optional<RuntimeException> noAnswer(
      String what, String state, String nextStep, Exception failure) {
    return NoAnswer.in(failure).map(each -> each.error(what, state, nextStep, failure));
  }

  private static RuntimeException told(String sentence, Exception failure) {
    Kind kind = meaning(failure).map(Meaning::kind).orElse(Kind.STORE_FAILED);
    return new KeylakeException(kind, sentence, failure);
  }

  private static RuntimeException unchecked(Exception failure) {
    return failure instanceof RuntimeException unchecked
        ? unchecked
        : new UncheckedIOException((IOException) failure);
  }

  /** Says whether a failure is the store's, and neither said already nor of a cancelled task. */
  private static boolean isOfTheStore(Exception failure) {
    return chain(failure)
            .noneMatch(
                each ->
                    each instanceof KeylakeException
                        || each instanceof InterruptedException
                        || each instanceof InterruptedIOException
                        || each instanceof ClosedByInterruptException)
        && chain(failure)
            .anyMatch(
                each ->
                    each instanceof IOException
                        || each instanceof RuntimeIOException
                        || each instanceof NotFoundException
                        || isOfAws(each)
                        || FileDamage.isOfParquet(each));
  }

  /** Java says so, too, of a file that may not be opened. */
  private static boolean isGone(Exception failure) {
    return meaning(failure).isEmpty()
        && chain(failure)
            .anyMatch(
                each ->
                    each instanceof NotFoundException
                        || each instanceof FileNotFoundException
                        || each instanceof NoSuchFileException);
  }

  private static boolean isDamage(Exception failure) {
    return chain(failure)
        .anyMatch(
            each ->
                each instanceof EOFException
                    || each instanceof FileDamage
                    || each.getClass().getSimpleName().equals("ChecksumException")
                    || FileDamage.isOfParquet(each));
  }

  private static String why(Exception failure) {
    return meaning(failure).map(Meaning::why).orElseGet(() -> root(failure));
  }

  private static String help(Exception failure) {
    String otherwise =
        isGone(failure)
            ? "put the file back from a backup, or go back to a commit without it (rollback),"
            : MEND;
    return meaning(failure).map(Meaning::help).orElse(otherwise);
  }

  private static Optional<Meaning> meaning(Exception failure) {
    return MEANINGS.stream()
        .filter(
            meaning ->
                chain(failure)
                    .anyMatch(each -> String.valueOf(each.getMessage()).contains(meaning.sign())))
        .findFirst();
  }

  /** The text of the innermost error, or of the one that says where in the file it was met. */
  private static String root(Exception failure) {
    Throwable root =
        chain(failure)
            .filter(FileDamage.class::isInstance)
            .findFirst()
            .orElseGet(() -> chain(failure).reduce(failure, (outer, inner) -> inner));
    if (root.getMessage() == null) {
      return root instanceof EOFException ? "it ends too early" : root.getClass().getSimpleName();
    }
    return root.getMessage().lines().findFirst().orElse("");
  }

  private static Stream<Throwable> chain(Throwable failure) {
    return FileDamage.chain(failure);
  }
}
