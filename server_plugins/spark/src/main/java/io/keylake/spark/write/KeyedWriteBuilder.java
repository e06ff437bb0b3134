package io.keylake.spark.write;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.spark.engine.StreamUpdates;
import io.keylake.spark.read.scan.StatementRead;
import io.keylake.spark.write.request.Requirement;
import io.keylake.spark.write.request.WriteOptions;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.isolation.Isolation;
import io.keylake.tables.quarantine.Quarantine;
import io.keylake.tables.spec.KeyedSchema;
import java.util.Arrays;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.expressions.Expressions;
import org.apache.iceberg.spark.SparkV2Filters;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.connector.expressions.filter.Predicate;
import org.apache.spark.sql.connector.write.LogicalWriteInfo;
import org.apache.spark.sql.connector.write.SupportsDynamicOverwrite;
import org.apache.spark.sql.connector.write.SupportsOverwriteV2;
import org.apache.spark.sql.connector.write.Write;
import org.apache.spark.sql.connector.write.WriteBuilder;
import org.jspecify.annotations.Nullable;

/** Starts a write of rows that {@code KeyedWriteRule} has prepared. */
public final class KeyedWriteBuilder
    implements SupportsOverwriteV2, SupportsDynamicOverwrite, StreamUpdates {
  /** The state of the rows that are to be written. */
  public enum Rows {
    AS_GIVEN,
    PREPARED,
    /** The writer wants them in buckets and sorted. */
    BY_BUCKET,
    /** One task has them all, which the writer wants sorted. */
    IN_ONE_TASK,
    /** The driver has them all, as {@link DriverWrite} does, and sorts them. */
    BY_DRIVER,
    /** Each task has whole buckets or ranges of keys, which the writer wants sorted. */
    SPREAD,
    /** Each task has ranges of keys of one bucket, sorted. */
    IN_PLACE;

    boolean areSpread() {
      return this == IN_ONE_TASK || this == SPREAD || areSorted();
    }

    boolean areSorted() {
      return this == BY_DRIVER || this == IN_PLACE;
    }
  }

  private final SparkSession spark;
  private final Table table;
  private final @Nullable String branch;
  private final KeyedSchema schema;
  private final LogicalWriteInfo info;
  private final Rows rows;
  private @Nullable StatementRead read;
  private @Nullable Effect replaces;

  public KeyedWriteBuilder(
      SparkSession spark,
      Table table,
      @Nullable String branch,
      KeyedSchema schema,
      LogicalWriteInfo info,
      Rows rows) {
    this.spark = spark;
    this.table = table;
    this.branch = branch;
    this.schema = schema;
    this.info = info;
    this.rows = rows;
  }

  /** The statement that has made the rows of those of the table; null for none. */
  public KeyedWriteBuilder madeOf(@Nullable StatementRead statement) {
    read = statement;
    return this;
  }

  @Override
  public boolean canOverwrite(Predicate[] predicates) {
    return true; // or say why not
  }

  @Override
  public WriteBuilder overwrite(Predicate[] predicates) {
    Expression all = Expressions.alwaysTrue();
    for (Predicate predicate : predicates) {
      Expression expression = SparkV2Filters.convert(predicate);
      boolean isOnPartition =
          Arrays.stream(predicate.references())
              .allMatch(
                  ref -> schema.spec().partitionBy().contains(String.join(".", ref.fieldNames())));
      if (expression == null || !isOnPartition) {
        throw new KeylakeException(
            UNSUPPORTED,
            "overwrite replaces the whole table or whole partitions, and the condition %s is not on partition_by %s"
                .formatted(predicate, schema.spec().partitionBy()));
      }
      all = Expressions.and(all, expression);
    }
    replaces = new Effect.Replaces(all);
    return this;
  }

  @Override
  public WriteBuilder truncate() {
    replaces = new Effect.Replaces(Expressions.alwaysTrue());
    return this;
  }

  @Override
  public WriteBuilder overwriteDynamicPartitions() {
    replaces = new Effect.ReplacesWritten(schema.spec().partitionBy());
    return this;
  }

  @Override
  public Write build() {
    WriteOptions.Verb unlessSaid =
        replaces == null ? WriteOptions.Verb.UPDATE : WriteOptions.Verb.OVERWRITE;
    WriteOptions options =
        WriteOptions.of(info.options().asCaseSensitiveMap(), unlessSaid)
            .versionedBy(schema.spec().ordering());
    if (options.businessTime() != null && (replaces != null || branch != null)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "business_time goes with writes that add to main, not with an overwrite or a write to a branch; leave it out");
    }
    checkQuarantine(options);
    return new KeyedWrite(spark, table, branch, schema, info, options, rows, effect(options));
  }

  private void checkQuarantine(WriteOptions options) {
    Requirement requirement = options.requirement();
    if (requirement != null && (options.retracts() || options.adopts() != null)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "option require is about rows that are written, and this write %s; leave it out"
              .formatted(options.retracts() ? "takes contributions back" : "adopts a commit"));
    }
    if (requirement != null && requirement.holdsBack()) {
      String other =
          branch != null
              ? "goes to branch '%s'; check the branch when it is published".formatted(branch)
              : replaces != null
                  ? "replaces rows; leave it out, or write to a branch and check that"
                  : options.businessTime() != null
                      ? "has a business_time, so that archived states get its rows; leave one of the two out"
                      : null;
      if (other != null) {
        throw new KeylakeException(
            UNSUPPORTED,
            "on_failure='quarantine' holds rows back of a write that adds to main, and this one %s"
                .formatted(other));
      }
    }
    boolean mends =
        options.verb() == WriteOptions.Verb.UPSERT || options.verb() == WriteOptions.Verb.UPDATE;
    if (!mends && Quarantine.isOne(table, branch)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "rows of the quarantine of %s are mended by upsert or update, and %s does neither; CALL system.discard takes rows out of it"
              .formatted(table.name(), options.verb().word()));
    }
  }

  private Effect effect(WriteOptions options) {
    if (replaces != null) {
      return replaces;
    }
    StatementRead statement = read;
    Long readAt = options.readAt();
    if (readAt != null) {
      return new Effect.AddsToRead(() -> isolation(readAt));
    }
    return statement == null
        ? new Effect.Adds(options.businessTime())
        : new Effect.AddsToRead(() -> statement.isolation(schema));
  }

  /** The rows were made of all of what was read, by somebody who says at which commit. */
  private Isolation isolation(long readAt) {
    String property = TableProperties.MERGE_ISOLATION_LEVEL;
    return new Isolation(
        schema,
        property,
        Isolation.level(table.properties(), property),
        readAt,
        null,
        counts -> Expressions.alwaysTrue());
  }

  /** Leaves all rows out of the next snapshot of a branch, and opens no file. */
  public static void truncate(
      SparkSession spark, Table table, @Nullable String branch, KeyedSchema schema) {
    KeyedWrite.truncate(spark, table, branch, schema);
  }
}
