package io.keylake.spark;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import scala.Product;

/**
 * Tells the process that started the server on which port Connect listens. The system chooses the
 * port when it is bound, so that no other process can have it; Spark posts an event with it, whose
 * class is not on the class path of the plug-in.
 */
final class ConnectPort extends SparkListener {
  private static final String STARTED = "SparkListenerConnectServiceStarted";
  private static final int PORT = 1; // behind the address

  private final Path file;

  /**
   * @param file gets the port as text, as a whole or not at all
   */
  ConnectPort(Path file) {
    this.file = file;
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof Product started && started.productPrefix().equals(STARTED)) {
      write(String.valueOf(started.productElement(PORT)));
    }
  }

  private void write(String port) {
    try {
      Path whole = Files.writeString(file.resolveSibling(file.getFileName() + ".tmp"), port);
      Files.move(whole, file, StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
