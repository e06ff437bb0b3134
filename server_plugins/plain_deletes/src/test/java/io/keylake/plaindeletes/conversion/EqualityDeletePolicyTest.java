package io.keylake.plaindeletes.conversion;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.plaindeletes.index.DeletesTable;
import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.time.Instant;
import java.util.Optional;
import org.apache.iceberg.PartitionSpec;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** When equality deletes are worth a conversion. */
class EqualityDeletePolicyTest extends ConversionCase {
  private static final Instant NOW = Instant.parse("2026-11-23T12:00:00Z");

  private static Optional<String> because(String json, DeleteBacklog backlog) {
    return EqualityDeletePolicy.fromJson(json).because(backlog, NOW);
  }

  @Test
  void anyLimitIsEnough() {
    DeleteBacklog backlog = new DeleteBacklog(101, 10, 100, NOW.minusSeconds(3600));
    assertEquals(
        Optional.of("101 files of equality deletes, and max_files is 100"), because("{}", backlog));
    assertEquals(
        Optional.of("10 rows of equality deletes for 100 rows of data, and max_share is 0.05"),
        because("{\"max_files\": 101, \"max_share\": 0.05}", backlog));
    assertEquals(
        Optional.of("the oldest equality delete is 1.0 hours old, and max_hours is 0.5"),
        because("{\"max_files\": 101, \"max_hours\": 0.5}", backlog));
    assertEquals(Optional.empty(), because("{\"max_files\": 101, \"max_hours\": 1}", backlog));
    assertEquals(Optional.empty(), because("{\"max_files\": 101, \"max_hours\": null}", backlog));
    DeleteBacklog ofExpired = new DeleteBacklog(1, 1, 100, null);
    assertEquals(
        Optional.of("the commit of the oldest equality delete has expired"),
        because("{}", ofExpired));
    assertEquals(Optional.empty(), because("{\"max_hours\": null}", ofExpired));
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      quoteCharacter = '`',
      value = {
        "{\"max_files\": -1}|max_files -1; it must be 0 or more",
        "{\"max_files\": 1.5}|max_files 1.5; it must be a whole number",
        "{\"max_share\": \"a\"}|max_share \"a\"; it must be a number",
        "{\"max_share\": null}|max_share null; it must be a number",
        "{\"max_hours\": -2}|max_hours -2.0; it must be 0 or more, or null for no limit",
        "{\"files\": 1}|the members max_files, max_share, max_hours, not {\"files\": 1}",
        "7|is a JSON object",
        "{|is not JSON",
      })
  void whatCannotBeIsRefused(String json, String words) {
    KeylakeException error =
        assertThrows(KeylakeException.class, () -> EqualityDeletePolicy.fromJson(json));
    assertEquals(KeylakeException.Kind.DEFINITION, error.kind());
    assertTrue(error.getMessage().contains(words), error.getMessage());
    assertTrue(error.getMessage().contains(EqualityDeletePolicy.PROPERTY), error.getMessage());
  }

  @Test
  void aBacklogHasWhatCanBecomePositions() throws IOException {
    DeletesTable made = new DeletesTable(SCHEMA, PartitionSpec.unpartitioned(), 3);
    assertEquals(0, DeleteBacklog.of(made.table).files());
    append(made, row(1, 0), row(2, 0), row(3, 0));
    assertEquals(new DeleteBacklog(0, 0, 0, null), DeleteBacklog.of(made.table));
    delete(made, row(1, 0), 1);
    Instant first = Instant.ofEpochMilli(made.table.currentSnapshot().timestampMillis());
    delete(made, row(2, 0), 1);
    delete(made, row(3, 0), 2);
    assertEquals(new DeleteBacklog(3, 3, 3, first), DeleteBacklog.of(made.table));
    made.table.updateSchema().deleteColumn("name").commit();
    assertEquals(2, DeleteBacklog.of(made.table).files(), "no index has a dropped column");
    convert(made.table);
    assertEquals(0, DeleteBacklog.of(made.table).files());
  }
}
