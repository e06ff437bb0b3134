package io.keylake.spark;

import io.keylake.spark.rest.PortFile;
import org.apache.spark.scheduler.SparkListener;
import org.apache.spark.scheduler.SparkListenerEvent;
import scala.Product;

/**
 * Tells the process that started the server on which port Connect listens. Spark posts an event
 * with it, whose class is not on the class path of the plug-in.
 */
final class ConnectPort extends SparkListener {
  private static final String STARTED = "SparkListenerConnectServiceStarted";
  private static final int PORT = 1; // behind the address

  private final PortFile file;

  /**
   * @param file gets the port
   */
  ConnectPort(PortFile file) {
    this.file = file;
  }

  @Override
  public void onOtherEvent(SparkListenerEvent event) {
    if (event instanceof Product started && started.productPrefix().equals(STARTED)) {
      file.write(String.valueOf(started.productElement(PORT)));
    }
  }
}
