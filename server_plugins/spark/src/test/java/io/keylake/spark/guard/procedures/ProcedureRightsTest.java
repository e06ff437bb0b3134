package io.keylake.spark.guard.procedures;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ProcedureRightsTest {
  @Test
  void everyProcedureHasARight() throws IOException {
    Path listed = Path.of("..", "..", "tests", "public", "procedures.txt");
    for (String line : Files.readAllLines(listed)) {
      String name = line.substring(0, line.indexOf('('));
      assertTrue(ProcedureRights.knows(name), name);
    }
  }
}
