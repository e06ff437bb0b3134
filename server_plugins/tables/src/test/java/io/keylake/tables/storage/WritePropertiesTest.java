package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.KeylakeException;
import java.util.Map;
import org.junit.jupiter.api.Test;

/** Properties of writes are looked at when they are set, and not by the first write. */
class WritePropertiesTest {
  @Test
  void valuesThatIcebergTakes() {
    Map.of(
            "commit.retry.num-retries", "0",
            "write.target-file-size-bytes", "1048576",
            "write.parquet.compression-codec", "ZSTD",
            "write.format.default", "parquet",
            "write.metadata.metrics.default", "truncate(16)",
            "write.metadata.metrics.column.a", "none",
            "write.distribution-mode", "hash",
            "write.made.up", "anything")
        .forEach((name, value) -> assertDoesNotThrow(() -> WriteProperties.check(name, value)));
  }

  @Test
  void valuesThatWouldFailEveryLaterWrite() {
    Map.of(
            "commit.retry.min-wait-ms", "-1",
            "write.summary.partition-limit", "",
            "history.expire.max-snapshot-age-ms", "a week",
            "write.parquet.page-size-bytes", "2147483648",
            "write.object-storage.enabled", "yes",
            "write.format.default", "orc",
            "schema.name-mapping.default", "null",
            "write.parquet.compression-codec", "zip",
            "write.metadata.metrics.column.a", "some",
            "write.delete.mode", "now")
        .forEach(WritePropertiesTest::assertRefused);
    assertRefused("write.parquet.compression-level", "high");
  }

  private static void assertRefused(String name, String value) {
    String said =
        assertThrows(KeylakeException.class, () -> WriteProperties.check(name, value)).sentence();
    assertTrue(said.startsWith("property '%s' is '%s'; it must be ".formatted(name, value)));
  }

  @Test
  void aClassThatServersWouldLoad() {
    assertTrue(
        assertThrows(
                KeylakeException.class,
                () -> WriteProperties.check("write.location-provider.impl", "com.acme.Places"))
            .sentence()
            .contains("leave it out"));
  }
}
