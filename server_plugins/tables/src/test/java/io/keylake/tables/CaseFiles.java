package io.keylake.tables;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.spec.SpecJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;

/** The cases that pytest reads as well. */
public final class CaseFiles {
  private static final Path CASES = Path.of(System.getProperty("keylake.cases"));

  private CaseFiles() {}

  public static JsonNode json(String file) {
    return SpecJson.parse(text(file));
  }

  public static String text(String file) {
    try {
      return Files.readString(CASES.resolve(file));
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The texts of a folder's files, by name. */
  public static Stream<String> texts(String folder) {
    try (Stream<Path> files = Files.list(CASES.resolve(folder))) {
      List<String> texts = new ArrayList<>();
      for (Path file : files.sorted().toList()) {
        texts.add(Files.readString(file));
      }
      return texts.stream();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  /** The specs that are good: each file holds one in its full form and in its property form. */
  public static List<String> goldenSpecs() {
    try (Stream<Path> files = Files.list(CASES.resolve("spec"))) {
      return files
          .map(file -> "spec/" + file.getFileName())
          .filter(file -> file.endsWith(".json") && !file.endsWith("/refused.json"))
          .sorted()
          .toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
