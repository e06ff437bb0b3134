import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import org.apache.hadoop.hive.conf.HiveConf;
import org.apache.hadoop.hive.metastore.HiveMetaStore;
import org.apache.hadoop.hive.metastore.txn.TxnDbUtil;
import org.apache.hadoop.hive.shims.ShimLoader;

/**
 * Hive's metastore, as Spark carries it, over Derby in memory: it prints its port, and ends with its standard input.
 *
 * <p>{@code java -cp ... HiveMetastore.java WAREHOUSE}
 */
public final class HiveMetastore {
  private HiveMetastore() {}

  public static void main(String[] arguments) throws Exception {
    // Hive makes configurations of its own in many places; they all look at these.
    System.setProperty("derby.stream.error.file", "/dev/null");
    System.setProperty("javax.jdo.option.ConnectionURL", "jdbc:derby:memory:metastore;create=true");
    System.setProperty("datanucleus.schema.autoCreateAll", "true");
    System.setProperty("datanucleus.connectionPoolingType", "HikariCP");
    System.setProperty("hive.metastore.schema.verification", "false");
    System.setProperty("hive.metastore.warehouse.dir", arguments[0]);
    TxnDbUtil.prepDb(new HiveConf()); // the tables of locks, which are not made by themselves
    int port = freePort();
    Thread server = new Thread(() -> serve(port));
    server.setDaemon(true);
    server.start();
    while (!answers(port)) {
      Thread.sleep(100);
    }
    System.out.println(port);
    while (System.in.read() >= 0) {
      // its owner is there
    }
    System.exit(0);
  }

  private static void serve(int port) {
    try {
      HiveMetaStore.startMetaStore(port, ShimLoader.getHadoopThriftAuthBridge(), new HiveConf());
    } catch (Throwable e) {
      e.printStackTrace();
      System.exit(1);
    }
  }

  private static int freePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private static boolean answers(int port) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), port)) {
      return socket.isConnected();
    } catch (IOException e) {
      return false;
    }
  }
}
