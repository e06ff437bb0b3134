package io.keylake.spark.mergedstate;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.CatalogUtil;
import org.apache.iceberg.LocationProviders;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.RowLevelOperationMode;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SortOrder;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableMetadataParser;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;
import org.jspecify.annotations.Nullable;

/**
 * The metadata of a merged state, which no catalog has: this process knows which file is the newest
 * one, and makes the state anew where it does not.
 */
final class StateOperations implements TableOperations {
  /** Deletion vectors, of which a file has one at most. */
  private static final int FORMAT = 3;

  private static final String MERGE_ON_READ = RowLevelOperationMode.MERGE_ON_READ.modeName();

  private static final Map<String, String> PROPERTIES =
      Map.of(
          TableProperties.METADATA_DELETE_AFTER_COMMIT_ENABLED,
          "true",
          TableProperties.METADATA_PREVIOUS_VERSIONS_MAX,
          "5",
          TableProperties.MIN_SNAPSHOTS_TO_KEEP,
          "1",
          // A statement of another engine then says which rows it has changed, and no others.
          TableProperties.DELETE_MODE,
          MERGE_ON_READ,
          TableProperties.UPDATE_MODE,
          MERGE_ON_READ,
          TableProperties.MERGE_MODE,
          MERGE_ON_READ);

  private static final ObjectMapper JSON = new ObjectMapper();

  private final FileIO io;
  private final String location;
  private TableMetadata current;
  private int version;
  private long millis;

  /**
   * @param uuid the same for all states of a table: readers take another for another table
   * @param millis the time of the state
   */
  StateOperations(FileIO io, String location, UUID uuid, Schema schema, long millis) {
    this.io = io;
    this.millis = millis;
    this.location = location;
    TableMetadata first =
        TableMetadata.buildFromEmpty(FORMAT)
            .assignUUID(uuid.toString())
            .setLocation(location)
            .setCurrentSchema(schema, schema.highestFieldId())
            .setDefaultPartitionSpec(PartitionSpec.unpartitioned())
            .setDefaultSortOrder(SortOrder.unsorted())
            .setProperties(PROPERTIES)
            .build();
    this.current = written(first);
  }

  /**
   * Dates what is committed from now on as the commit that it is of. A state is made while readers
   * wait, and to a transaction of DuckDB nothing is there that is younger than itself.
   */
  void date(long commitMillis) {
    millis = Math.max(millis, commitMillis);
  }

  /** Shows other columns from now on. */
  void show(Schema schema) {
    if (!current.schema().sameSchema(schema)) {
      int last = Math.max(schema.highestFieldId(), current.lastColumnId());
      commit(current, TableMetadata.buildFrom(current).setCurrentSchema(schema, last).build());
    }
  }

  /** The newest metadata was not cleaned away by somebody who does not know of the state. */
  boolean isThere() {
    return io.newInputFile(current.metadataFileLocation()).exists();
  }

  @Override
  public synchronized TableMetadata current() {
    return current;
  }

  @Override
  public TableMetadata refresh() {
    return current();
  }

  @Override
  public synchronized void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    if (base != current) {
      throw new CommitFailedException("The merged state was made by somebody else meanwhile");
    }
    if (metadata != base) {
      current = written(metadata);
      CatalogUtil.deleteRemovedMetadataFiles(io, base, current);
    }
  }

  private TableMetadata written(TableMetadata metadata) {
    String name = String.format(Locale.ROOT, "%05d-%s.metadata.json", version++, UUID.randomUUID());
    TableMetadata dated = dated(metadata, metadataFileLocation(name));
    TableMetadataParser.write(dated, io.newOutputFile(dated.metadataFileLocation()));
    return dated;
  }

  private TableMetadata dated(TableMetadata metadata, String file) {
    try {
      ObjectNode json = (ObjectNode) JSON.readTree(TableMetadataParser.toJson(metadata));
      json.put("last-updated-ms", millis);
      long newest = json.path("current-snapshot-id").asLong();
      for (String list : List.of("snapshots", "snapshot-log")) {
        for (JsonNode each : json.path(list)) {
          if (each.path("snapshot-id").asLong() == newest) {
            ((ObjectNode) each).put("timestamp-ms", millis);
          }
        }
      }
      return TableMetadataParser.fromJson(file, json.toString());
    } catch (JsonProcessingException e) {
      throw new IllegalStateException(e);
    }
  }

  @Override
  public FileIO io() {
    return io;
  }

  @Override
  public String metadataFileLocation(String name) {
    return location + "/metadata/" + name;
  }

  @Override
  public LocationProvider locationProvider() {
    return LocationProviders.locationsFor(location, PROPERTIES);
  }
}
