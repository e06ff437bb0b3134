package io.keylake.tables;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class FileNamesTest {
  private static final String UUID = "0f1e2d3c-aaaa-4bbb-8ccc-0123456789ab";

  @ParameterizedTest
  @ValueSource(
      strings = {
        "00000-1-UUID-00001.parquet",
        "00012-3456-compact-full-UUID-00012.parquet",
        "00012-3456-settle-UUID-00001.puffin",
        "01101001-00000-1-UUID-00001.parquet",
        "00000-1-UUID-00001-deletes.parquet",
        "00000-1-late_1793530800000000-UUID-00001.parquet",
        "00000-1-timely_m5_12-UUID-00001.parquet",
        "00012-3456-late_x_7-mixed-compact-UUID-00001.parquet",
      })
  void contentOfATable(String name) {
    assertTrue(FileNames.isContent(name.replace("UUID", UUID)));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "00000-0-UUID.parquet",
        "00000-1-00001.parquet",
        "group-00001.parquet",
        "00000-1-UUID-00001.parquet.bak",
        "part-00000-UUID-c000.snappy.parquet",
        "UUID-m0.avro",
      })
  void filesOfOthers(String name) {
    assertFalse(FileNames.isContent(name.replace("UUID", UUID)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"00001-UUID.metadata.json", "00001-UUID.gz.metadata.json"})
  void metadataOfATable(String name) {
    assertTrue(FileNames.isTableMetadata(name.replace("UUID", UUID)));
    assertTrue(FileNames.isAnyTableMetadata(name.replace("UUID", UUID)));
  }

  @ParameterizedTest
  @ValueSource(strings = {"v12.metadata.json", "v12.gz.metadata.json", "v1.metadata.json.gz"})
  void metadataThatOtherCatalogsName(String name) {
    assertFalse(FileNames.isTableMetadata(name));
    assertTrue(FileNames.isAnyTableMetadata(name));
  }

  @ParameterizedTest
  @ValueSource(strings = {"UUID-m17.avro", "snap-6371942-1-UUID.avro"})
  void manifestsAndTheirLists(String name) {
    assertTrue(FileNames.isManifest(name.replace("UUID", UUID)));
  }
}
