package io.keylake.tables;

import java.io.EOFException;
import java.io.IOException;
import java.nio.BufferUnderflowException;
import java.util.NoSuchElementException;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** A part of a file that is not as it was written. */
public final class FileDamage extends IOException {
  private static final long serialVersionUID = 1L;

  /** The packages in front of the name of a class, which are nothing to the reader of an error. */
  private static final Pattern PACKAGES = Pattern.compile("\\b(?:[a-z]\\w*\\.)+(?=[A-Z])");

  /**
   * @param what part of the file, and how that shows
   */
  public FileDamage(String what) {
    super(what);
  }

  private FileDamage(String what, Throwable cause) {
    super(what, cause);
  }

  /**
   * Damage of a part of a file, that shows in an error of whoever decodes it. Only a checksum says
   * that the bytes are others.
   */
  public static FileDamage of(String part, Throwable failure) {
    Optional<Throwable> located = chain(failure).filter(FileDamage.class::isInstance).findFirst();
    if (located.isPresent()) {
      return (FileDamage) located.get();
    }
    Throwable root = chain(failure).reduce(failure, (outer, inner) -> inner);
    String message = String.valueOf(root.getMessage()).lines().findFirst().orElse("");
    return new FileDamage(
        message.contains("CRC")
            ? part + " does not fit its checksum"
            : "%s cannot be decoded: %s".formatted(part, shown(root, message)),
        failure);
  }

  private static String shown(Throwable root, String message) {
    if (root instanceof EOFException) {
      return "it ends too early";
    }
    return root.getMessage() == null
        ? root.getClass().getSimpleName()
        : PACKAGES.matcher(message).replaceAll("");
  }

  /** An error is one of a decoder that met bytes which nobody writes. */
  public static boolean isShownBy(Throwable failure) {
    return chain(failure)
            .noneMatch(
                each -> each instanceof KeylakeException || each instanceof InterruptedException)
        && chain(failure).anyMatch(FileDamage::isOfDecoder);
  }

  private static boolean isOfDecoder(Throwable error) {
    return error instanceof EOFException
        || error instanceof FileDamage
        || error instanceof IndexOutOfBoundsException
        || error instanceof IllegalArgumentException
        || error instanceof NegativeArraySizeException
        || error instanceof NullPointerException
        || error instanceof ArithmeticException
        || error instanceof ClassCastException
        || error instanceof UnsupportedOperationException
        || error instanceof BufferUnderflowException
        || error instanceof NoSuchElementException
        || error.getClass() == RuntimeException.class
        || isOfParquet(error)
        || isOfCodec(error);
  }

  /** Parquet's own errors, and plain ones in which it speaks of itself. */
  static boolean isOfParquet(Throwable error) {
    String message = String.valueOf(error.getMessage());
    return error.getClass().getName().contains("org.apache.parquet.")
        || message.contains("is not a Parquet file")
        || message.contains("org.apache.parquet.format.")
        || message.contains(" values in column chunk at ");
  }

  /** Errors of codecs, and Spark's of a type that it does not decode as another. */
  private static boolean isOfCodec(Throwable error) {
    String name = error.getClass().getName();
    return name.endsWith(".ZstdException")
        || name.startsWith("io.airlift.compress.")
        || name.endsWith(".SchemaColumnConvertNotSupportedException");
  }

  static Stream<Throwable> chain(Throwable failure) {
    return Stream.iterate(failure, each -> each != null, Throwable::getCause);
  }
}
