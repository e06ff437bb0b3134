package io.keylake.spark.mergedstate;

import io.keylake.spark.rest.KeyedTables;
import io.keylake.tables.KeylakeException;
import java.time.Duration;
import java.util.Optional;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.rest.requests.UpdateTableRequest;
import org.apache.iceberg.rest.responses.LoadTableResponse;
import org.apache.spark.SparkContext;
import org.jspecify.annotations.Nullable;

/**
 * Merged states in place of keyed tables, for clients of the catalog that do not merge.
 *
 * @param usual how old a state may be where the client does not say it
 */
public record ServedStates(SparkContext spark, Duration usual) implements KeyedTables {
  /** The age that a state may have, in seconds. */
  public static final String FRESHNESS = "spark.keylake.catalog.freshness";

  private static final double DEFAULT_SECONDS = 1;
  private static final double MOST_SECONDS = 86_400;
  private static final double MILLIS_A_SECOND = 1000;

  public static ServedStates of(SparkContext spark) {
    String said = spark.conf().get(FRESHNESS, String.valueOf(DEFAULT_SECONDS));
    double seconds;
    try {
      seconds = Double.parseDouble(said);
    } catch (NumberFormatException e) {
      seconds = Double.NaN;
    }
    if (!(seconds >= 0 && seconds <= MOST_SECONDS)) {
      throw new KeylakeException(
          KeylakeException.Kind.DEFINITION,
          "%s is '%s'; it must be a number of seconds from 0 to %.0f; start the server with another"
              .formatted(FRESHNESS, said, MOST_SECONDS));
    }
    return new ServedStates(spark, Duration.ofMillis((long) (seconds * MILLIS_A_SECOND)));
  }

  @Override
  public LoadTableResponse load(
      UUID table, @Nullable String ref, Supplier<Table> newest, @Nullable Duration freshness) {
    TableMetadata state =
        MergedStates.ofProcess()
            .of(
                spark,
                new MergedStates.Name(table, ref),
                newest,
                freshness == null ? usual : freshness);
    return LoadTableResponse.builder().withTableMetadata(state).build();
  }

  @Override
  public LoadTableResponse commit(
      Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit) {
    TableMetadata state = MergedStates.ofProcess().of(spark, table, null, Duration.ofDays(1));
    ForeignWrite.of(table, name, state, commit)
        .ifPresent(write -> write.make(catalog.name(), name, table));
    return load(table.uuid(), null, () -> table, Duration.ZERO);
  }

  @Override
  public Optional<UnseenRows> write(
      Catalog catalog, TableIdentifier name, Table table, UpdateTableRequest commit) {
    TableMetadata state = MergedStates.ofProcess().of(spark, table, null, Duration.ofDays(1));
    return ForeignWrite.of(table, name, state, commit)
        .map(write -> UnseenWrite.of(write, catalog.name(), name, table));
  }

  @Override
  public void outdate(UUID table) {
    MergedStates.ofProcess().outdate(table);
  }
}
