package io.keylake.tables.manifests;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.keylake.tables.commits.ManifestRewrite;
import io.keylake.tables.manifests.ManifestLayout.Piece;
import io.keylake.tables.manifests.ManifestLayout.Rewrite;
import io.keylake.tables.planning.MemoryTable;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.TreeMap;
import org.apache.iceberg.ManifestFile;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ManifestLayoutTest {
  /** A table of which only the manifests are there: the number of files of each bucket. */
  private static final class Manifests {
    private final Map<String, Map<Integer, Long>> all = new TreeMap<>();
    private int made;
    private long written;

    private void add(Map<Integer, Long> files) {
      all.put("m" + made++, files);
    }

    private ManifestLayout layout() {
      List<Piece> pieces = new ArrayList<>();
      all.forEach(
          (path, files) -> {
            TreeMap<Integer, Long> sorted = new TreeMap<>(files);
            pieces.add(
                new Piece(path, files(files), sorted.firstKey(), sorted.lastEntry().getKey()));
          });
      return new ManifestLayout(pieces);
    }

    private static long files(Map<Integer, Long> manifest) {
      return manifest.values().stream().mapToLong(Long::longValue).sum();
    }

    private void write(Rewrite rewrite) {
      Map<Integer, Map<Integer, Long>> parts = new TreeMap<>();
      for (String path : rewrite.manifests()) {
        all.remove(path)
            .forEach(
                (bucket, files) ->
                    parts
                        .computeIfAbsent(rewrite.part(bucket), part -> new TreeMap<>())
                        .merge(bucket, files, Long::sum));
      }
      for (Map<Integer, Long> part : parts.values()) {
        written += files(part);
        add(part);
      }
    }

    /** The files in manifests that a plan of a bucket opens. */
    private long opened(int bucket) {
      return all.values().stream()
          .map(TreeMap::new)
          .filter(files -> files.firstKey() <= bucket && bucket <= files.lastKey())
          .mapToLong(Manifests::files)
          .sum();
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 3, 2000", "16, 4, 5000", "64, 64, 3000", "64, 2, 20000", "256, 100, 4000"})
  void aPlanOfABucketOpensFewAndFilesAreNamedAnewSeldom(int buckets, int touched, int commits) {
    Random random = new Random(buckets + commits);
    Manifests manifests = new Manifests();
    long files = 0;
    for (int commit = 0; commit < commits; commit++) {
      Map<Integer, Long> added = new TreeMap<>();
      for (int file = 0; file < touched; file++) {
        added.merge(random.nextInt(buckets), 1L, Long::sum);
      }
      files += touched;
      manifests.add(added);
      for (int times = 0; manifests.layout().due().isPresent(); times++) {
        assertTrue(times < 4, "it ends");
        manifests.write(manifests.layout().due().get());
      }
    }
    long wanted = Math.max(files / buckets, ManifestLayout.ENOUGH);
    long opened = manifests.opened(buckets / 2);
    String told = "%d files, %d named anew, %d opened for a bucket, %d manifests";
    String figures = told.formatted(files, manifests.written, opened, manifests.all.size());
    assertTrue(manifests.written <= 6 * files, figures);
    long late = ManifestLayout.WORTH + (long) ManifestLayout.MANY * touched;
    assertTrue(opened <= 8 * wanted + late, figures);
    assertTrue(manifests.all.size() <= 100 + 2 * files / ManifestLayout.ENOUGH, figures);
  }

  @Test
  void oneManifestOfAllBucketsIsDivided() {
    Manifests manifests = new Manifests();
    Map<Integer, Long> files = new TreeMap<>();
    for (int bucket = 0; bucket < 32; bucket++) {
      files.put(bucket, 1000L);
    }
    manifests.add(files);
    Rewrite due = manifests.layout().due().orElseThrow();
    assertEquals(32, due.parts());
    manifests.write(due);
    assertEquals(1000, manifests.opened(7));
  }

  @Test
  void theManifestsOfATableAreWrittenAgain() {
    MemoryTable table = MemoryTable.create("explicit", List.of("k"), 4, java.util.Set.of());
    for (int commit = 0; commit < 60; commit++) {
      table.commit(commit + " a @1", (commit + 100) + " a @1");
    }
    Rewrite due = layout(table).due().orElseThrow();
    assertEquals(1, due.parts());
    List<ManifestFile> before = manifests(table);
    table.commit("7 a @9"); // a commit that comes meanwhile keeps its manifest
    table.make(new ManifestRewrite(due));
    assertEquals(before.size() - due.manifests().size() + 2, manifests(table).size());
    assertEquals(Optional.empty(), layout(table).due());
  }

  private static ManifestLayout layout(MemoryTable table) {
    return ManifestLayout.of(table.table, manifests(table));
  }

  private static List<ManifestFile> manifests(MemoryTable table) {
    table.table.refresh();
    return table.table.currentSnapshot().dataManifests(table.table.io());
  }
}
