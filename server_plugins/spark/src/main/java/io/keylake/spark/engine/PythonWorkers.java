package io.keylake.spark.engine;

import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.channels.Channels;
import java.nio.channels.SocketChannel;
import org.apache.spark.SparkEnv;
import org.apache.spark.api.python.PythonWorker;
import scala.collection.immutable.Map;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Spark's own workers in Python, each of which answers one question at a time and goes back to
 * those that wait. A process of Spark keeps them as it keeps those of user-defined functions, with
 * another module of Python in them.
 */
public final class PythonWorkers {
  private static final String MODULE = "keylake.reducers.worker";
  private static final boolean IS_FORKED = true;

  private PythonWorkers() {}

  /** The path of Python, as Spark's user-defined functions find it. */
  public static String python() {
    String set = System.getenv().getOrDefault("PYSPARK_PYTHON", "python3");
    return SparkEnv.get().conf().get("spark.pyspark.python", set);
  }

  /**
   * Sends texts and bytes to a worker, each with its length before it.
   *
   * @return what the worker sends back
   */
  public static byte[] ask(byte[]... parts) throws IOException {
    PythonWorker worker =
        SparkEnv.get().createPythonWorker(python(), MODULE, MODULE, variables(), IS_FORKED)._1();
    boolean isDone = false;
    try {
      byte[] answer = ask(blocking(worker), parts);
      isDone = true;
      return answer;
    } finally {
      if (isDone) {
        SparkEnv.get().releasePythonWorker(python(), MODULE, MODULE, variables(), worker);
      } else {
        SparkEnv.get().destroyPythonWorker(python(), MODULE, MODULE, variables(), worker);
      }
    }
  }

  /** Spark's own runner takes turns at reading and writing; here the one follows the other. */
  private static SocketChannel blocking(PythonWorker worker) throws IOException {
    SocketChannel channel = worker.channel();
    if (!channel.isBlocking()) {
      worker.selector().close();
      channel.configureBlocking(true);
    }
    return channel;
  }

  private static byte[] ask(SocketChannel channel, byte[][] parts) throws IOException {
    DataOutputStream out =
        new DataOutputStream(new BufferedOutputStream(Channels.newOutputStream(channel)));
    for (byte[] part : parts) {
      out.writeInt(part.length);
      out.write(part);
    }
    out.flush();
    DataInputStream in =
        new DataInputStream(new BufferedInputStream(Channels.newInputStream(channel)));
    byte[] answer = new byte[in.readInt()];
    in.readFully(answer);
    return answer;
  }

  private static Map<String, String> variables() {
    return Map.from(CollectionConverters.asScala(java.util.Map.of("SPARK_REUSE_WORKER", "1")));
  }
}
