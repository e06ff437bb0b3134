package io.keylake.tables.adoption;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.spec.SpecJson;
import java.util.Map;
import java.util.Optional;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;

/**
 * The commit up to which a keyed table has taken over another one. It lies in a property of the
 * keyed table, as JSON, because commits of both can expire.
 *
 * @param uuid of the other table
 * @param snapshotId the last commit that was taken over, or is to be taken over whole; {@link
 *     #NOTHING} if there was none
 * @param isLoaded whether it was taken over
 */
public record AdoptedUntil(String uuid, long snapshotId, boolean isLoaded) {
  public static final String PROPERTY = "keylake.adopts";
  public static final long NOTHING = 0;

  private static final String UUID = "uuid";
  private static final String SNAPSHOT_ID = "snapshot_id";
  private static final String LOADED = "loaded";

  /** The state of a new table: all rows that are there now are to be taken over. */
  public static AdoptedUntil beginning(AdoptedTable adopted) {
    Snapshot head = adopted.table().currentSnapshot();
    return new AdoptedUntil(
        adopted.uuid(), head == null ? NOTHING : head.snapshotId(), head == null);
  }

  /** The state after one more commit was taken over. */
  public AdoptedUntil and(Snapshot commit) {
    return new AdoptedUntil(uuid, commit.snapshotId(), true);
  }

  /** The state of a keyed table; empty where it adopts none. */
  public static Optional<AdoptedUntil> of(Table adopter) {
    return Optional.ofNullable(adopter.properties().get(PROPERTY)).map(AdoptedUntil::fromJson);
  }

  private static AdoptedUntil fromJson(String json) {
    JsonNode node = SpecJson.parse("the property " + PROPERTY, json);
    return new AdoptedUntil(
        node.path(UUID).asText(), node.path(SNAPSHOT_ID).asLong(), node.path(LOADED).asBoolean());
  }

  public String toJson() {
    return SpecJson.write(Map.of(UUID, uuid, SNAPSHOT_ID, snapshotId, LOADED, isLoaded));
  }
}
