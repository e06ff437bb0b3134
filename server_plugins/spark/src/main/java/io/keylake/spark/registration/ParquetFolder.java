package io.keylake.spark.registration;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.STORE_FAILED;

import io.keylake.tables.FileDamage;
import io.keylake.tables.KeylakeException;
import java.util.regex.Pattern;
import org.apache.spark.SparkThrowable;
import org.apache.spark.sql.DataFrameReader;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.jspecify.annotations.Nullable;

/** The Parquet files in a folder and the folders below it, or one file. */
public record ParquetFolder(String path) {
  private static final String NAMES = "{*.parquet,*.parq}";

  /** The words with which Parquet's errors name a class of its own. */
  private static final Pattern STRUCT = Pattern.compile("!? Struct: \\S+$");

  /** Folders such as {@code day=2026-11-01} are columns; files in all others are found, too. */
  public Dataset<Row> rows() {
    try {
      Dataset<Row> all = reader(true).parquet(path);
      @Nullable Dataset<Row> partitioned = partitioned();
      if (partitioned == null) {
        return all;
      }
      if (partitioned.count() == all.count()) {
        return partitioned;
      }
      if (partitioned.columns().length > all.columns().length) {
        throw new KeylakeException(
            DEFINITION,
            "some of the Parquet files below '%s' lie in folders of partitions, and others beside them; register the folders apart from each other"
                .formatted(path));
      }
      return all;
    } catch (KeylakeException e) {
      throw e;
    } catch (Exception e) { // Scala declares none of those it throws
      throw refusal(e);
    }
  }

  private static DataFrameReader reader(boolean isRecursive) {
    return SparkSession.active()
        .read()
        .option("mergeSchema", true)
        .option("pathGlobFilter", NAMES)
        .option("recursiveFileLookup", isRecursive);
  }

  /** The files as they lie in folders of partitions; null where none lies so. */
  private @Nullable Dataset<Row> partitioned() throws Exception {
    try {
      return reader(false).parquet(path);
    } catch (Exception e) {
      if ("UNABLE_TO_INFER_SCHEMA".equals(condition(e))) {
        return null;
      }
      throw e;
    }
  }

  private KeylakeException refusal(Exception e) {
    String condition = String.valueOf(condition(e));
    return switch (condition) {
      case "PATH_NOT_FOUND" ->
          new KeylakeException(
              NOT_FOUND,
              "there is no path '%s', as the server sees it; name a folder with Parquet files"
                  .formatted(path));
      case "UNABLE_TO_INFER_SCHEMA" ->
          new KeylakeException(
              NOT_FOUND,
              "there are no Parquet files below '%s'; their names end in .parquet or .parq"
                  .formatted(path));
      default ->
          new KeylakeException(
              DEFINITION,
              "the Parquet files below '%s' cannot be read together (%s); register those of one schema and one way of partitioning"
                  .formatted(path, reason(e)));
    };
  }

  /** The error for rows that a job could not read because a file is damaged; null for others. */
  public @Nullable KeylakeException damage(Exception failure) {
    boolean isOfFile = String.valueOf(condition(failure)).startsWith("FAILED_READ_FILE");
    if (!isOfFile && !FileDamage.isShownBy(failure)) {
      return null;
    }
    String file =
        failure instanceof SparkThrowable known ? known.getMessageParameters().get("path") : null;
    return new KeylakeException(
        STORE_FAILED,
        "%s cannot be read (%s); nothing was registered; put it back from a backup, or take it out of the folder, and register again"
            .formatted(
                file == null
                    ? "a Parquet file below '%s'".formatted(path)
                    : "the Parquet file '%s'".formatted(file),
                reason(failure)),
        failure);
  }

  /** The first line of the innermost cause: those around it tell of jobs and tasks. */
  private static String reason(Exception e) {
    Throwable cause = e;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String message = cause.getMessage();
    return message == null
        ? cause.getClass().getSimpleName()
        : STRUCT.matcher(message.lines().findFirst().orElse("")).replaceFirst("");
  }

  private static @Nullable String condition(Exception e) {
    return e instanceof SparkThrowable known ? known.getCondition() : null;
  }
}
