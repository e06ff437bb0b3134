package io.keylake.tables.storage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class PlaceTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "/no/such/lake/a/b",
        "/no/such/lake/a/b/",
        "/no/such//lake/./a/b",
        "/no/such/lake/a/c/../b",
        "file:/no/such/lake/a/b",
        "file:///no/such/lake/a/b",
        "FILE:/no/such/lake/a/b",
      })
  void onePlaceHasOneSpelling(String location) {
    assertTrue(Place.of("file:/no/such/lake/a/b").isSame(Place.of(location)), location);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "/no/such/lake/a/bc",
        "/no/such/lake/a/b_c",
        "/no/such/lake/a",
        "/no/such/lake/a/B",
        "/no/such/lake/a/%62",
        "s3://no/such/lake/a/b",
        "hdfs://host/no/such/lake/a/b",
      })
  void otherPlacesAreOthers(String location) {
    assertFalse(Place.of("file:/no/such/lake/a/b").holds(Place.of(location)), location);
  }

  @Test
  void aFolderHoldsWhatLiesInIt() {
    Place bucket = Place.of("s3a://bucket/lake");
    assertTrue(bucket.holds(Place.of("s3://bucket/lake/a")));
    assertFalse(bucket.holds(Place.of("s3://other/lake/a")));
    assertTrue(Place.of("/no/such/..").holds(Place.of("/no/such/lake")));
    assertFalse(Place.of("/no/such/lake").holds(Place.of("/no/such/lake/../pond")));
  }

  @Test
  void linksLeadToWhatTheyStandFor(@TempDir Path folder) throws IOException {
    Path lake = Files.createDirectory(folder.resolve("lake"));
    Path link = Files.createSymbolicLink(folder.resolve("link"), lake);
    assertTrue(Place.of(lake + "/a/b").isSame(Place.of("file:" + link + "/a/b")));
    assertEquals(List.of("link", "a"), last(Place.written(link + "/a"), 2));
  }

  private static List<String> last(Place place, int count) {
    return place.parts().subList(place.parts().size() - count, place.parts().size());
  }

  @ParameterizedTest
  @ValueSource(strings = {"s3a://bucket/a/b", "file:/a/b", "/a/b", "hdfs://host:8020/a/b"})
  void aPlaceIsWrittenAsItWasSaid(String location) {
    assertEquals(location, Place.written(location).location());
  }
}
