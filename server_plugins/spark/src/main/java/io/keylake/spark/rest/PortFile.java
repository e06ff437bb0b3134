package io.keylake.spark.rest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;

/**
 * Tells the process that started the server on which port a part of it listens. The system chooses
 * the port when it is bound, so that no other process can have it.
 *
 * @param file gets the port as text, as a whole or not at all
 */
public record PortFile(Path file) {
  public void write(String port) {
    try {
      Path whole = Files.writeString(file.resolveSibling(file.getFileName() + ".tmp"), port);
      Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
