package io.keylake.tables.simulator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.keylake.tables.CaseFiles;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * The simulator finds each fault that is put into the code of commits and plans: `make mutants`.
 */
class MutantsTest {
  private static final int SEEDS = Integer.getInteger("keylake.mutants", 0);

  @Test
  void everyMutantFitsItsSource() throws IOException {
    for (Mutant mutant : Mutant.parse(CaseFiles.text("mutants.txt"))) {
      mutant.source();
    }
  }

  @Test
  void everyMutantIsFound(@TempDir Path folder) throws Exception {
    assumeTrue(SEEDS > 0, "make mutants");
    assertNull(Seeds.firstBroken(Math.min(SEEDS, 200)), "without a mutant, no law is broken");
    StringBuilder table = new StringBuilder("seeds\tlaw\tmutant\n");
    List<Mutant> survivors = new ArrayList<>();
    int number = 0;
    for (Mutant mutant : Mutant.parse(CaseFiles.text("mutants.txt"))) {
      String broken = mutant.firstBroken(folder.resolve(String.valueOf(number++)), SEEDS);
      table.append(broken == null ? "-\t-" : broken).append('\t').append(mutant).append('\n');
      if (broken == null) {
        survivors.add(mutant);
      }
      Files.writeString(Path.of("target", "mutants.tsv"), table);
    }
    assertEquals(List.of(), survivors, "not found by %d seeds".formatted(SEEDS));
  }
}
