package io.keylake.tables.storage;

import io.keylake.tables.history.Positions;
import io.keylake.tables.history.RetentionPolicy;
import java.time.Instant;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The past of a table: what of it is there, and what of it a cleaning would remove.
 *
 * @param snapshots that the table has
 * @param expirable those that the table's policy lets go
 * @param held more would go, if no consumer of the change feed had to read what came after them
 * @param heldBy the consumer that is furthest behind; null where there is none
 * @param metadataFiles the present one and those before it
 * @param oldMetadataFiles those of them that a cleaning deletes
 * @param metadataBytes of all of them
 * @param newestBytes of the present one, which each commit writes anew
 */
public record Retained(
    int snapshots,
    int expirable,
    int held,
    @Nullable String heldBy,
    int metadataFiles,
    int oldMetadataFiles,
    long metadataBytes,
    long newestBytes) {
  public static Retained of(Table table, Instant now) {
    table.refresh();
    int snapshots = 0;
    for (Snapshot ignored : table.snapshots()) {
      snapshots++;
    }
    RetentionPolicy policy = RetentionPolicy.of(table);
    OldMetadata metadata = OldMetadata.of(table);
    return new Retained(
        snapshots,
        Expiry.of(table, policy, now).size(),
        Expiry.heldByConsumers(table, policy, now),
        Positions.slowestConsumer(table).map(Positions.Place::name).orElse(null),
        metadata.files(),
        metadata.oldFiles(),
        metadata.bytes(),
        metadata.newestBytes());
  }
}
