package io.keylake.spark;

import com.codahale.metrics.Gauge;
import io.keylake.spark.access.AccessControl;
import io.keylake.spark.engine.SessionSettings;
import io.keylake.spark.extension.EngineVersions;
import io.keylake.spark.extension.Guests;
import io.keylake.spark.integrity.PageChecksums;
import io.keylake.spark.mergedstate.ServedStates;
import io.keylake.spark.reducers.user.UserReducers;
import io.keylake.spark.rest.CatalogServer;
import io.keylake.spark.rest.PortFile;
import io.keylake.tables.CommitCounter;
import io.keylake.tables.ReadTotal;
import io.keylake.tables.hashing.HashClasses;
import java.io.File;
import java.nio.file.Path;
import java.util.Map;
import org.apache.commons.io.FileUtils;
import org.apache.hadoop.util.ShutdownHookManager;
import org.apache.spark.SparkConf;
import org.apache.spark.SparkContext;
import org.apache.spark.api.plugin.DriverPlugin;
import org.apache.spark.api.plugin.ExecutorPlugin;
import org.apache.spark.api.plugin.PluginContext;
import org.apache.spark.api.plugin.SparkPlugin;
import org.jspecify.annotations.Nullable;

/**
 * Lets a server start only on the Spark and the Iceberg that the plug-in is for, and with guests of
 * its own version. Ends an embedded server with the process that started it, however that one
 * ended: nobody else knows the server's token. That process is named by {@value #OWNER}; there is
 * none where it is not set. The folder that it has made for the server, {@value #SCRATCH}, then
 * goes, too. It finds the port of Connect in the file that {@value #PORT_FILE} names. Tells each
 * process which classes of users it may load, and whether it compares pages with their checksums.
 * Serves the catalogs to other engines where {@value CatalogServer#PORT} says at which port.
 */
public final class KeylakePlugin implements SparkPlugin {
  static final String OWNER = "spark.keylake.owner.pid";
  private static final String SCRATCH = "spark.keylake.owner.scratch";
  private static final int AFTER_SPARK = 0; // hooks of a lower priority run later
  private static final String DRIVER = "driver"; // the id of the executor that is in the driver
  private static final String PORT_FILE = "spark.keylake.port-file";

  @Override
  public DriverPlugin driverPlugin() {
    return new DriverPlugin() {
      private @Nullable CatalogServer catalogs;

      @Override
      public Map<String, String> init(SparkContext context, PluginContext plugin) {
        EngineVersions.check();
        Guests.loaded();
        prepare(context.conf());
        AccessControl.start(context.conf());
        if (context.conf().contains(OWNER)) {
          endWith(Long.parseLong(context.conf().get(OWNER)), context.conf().get(SCRATCH, ""));
        }
        if (context.conf().contains(PORT_FILE)) {
          context.addSparkListener(new ConnectPort(portFile(context.conf())));
        }
        if (context.conf().contains(CatalogServer.PORT)) {
          catalogs =
              CatalogServer.start(
                  context.conf(), KeylakeCatalog.class.getName(), ServedStates.of(context));
        }
        return Map.of();
      }

      /** Spark gives its sinks what is in the registry, and so Prometheus and JMX have it. */
      @Override
      public void registerMetrics(String application, PluginContext plugin) {
        for (CommitCounter counter : CommitCounter.values()) {
          plugin.metricRegistry().register(counter.label(), (Gauge<Long>) counter::value);
        }
        registerReads(plugin);
        AccessControl control = AccessControl.ofServer();
        if (control != null) {
          plugin
              .metricRegistry()
              .register(
                  "access_policy_refused",
                  (Gauge<Integer>) () -> control.isPolicyRefused() ? 1 : 0);
        }
      }

      @Override
      public void shutdown() {
        if (catalogs != null) {
          catalogs.stop();
        }
      }
    };
  }

  private static PortFile portFile(SparkConf conf) {
    return new PortFile(Path.of(conf.get(PORT_FILE)));
  }

  private static void registerReads(PluginContext plugin) {
    for (ReadTotal total : ReadTotal.values()) {
      plugin.metricRegistry().register(total.label(), (Gauge<Long>) total::value);
    }
  }

  /** Tells this process what holds for the whole application. */
  private static void prepare(SparkConf conf) {
    UserReducers.allow(conf.get(UserReducers.SETTING, ""));
    HashClasses.allow(conf.get(HashClasses.SETTING, ""));
    PageChecksums.verify(conf.getBoolean(SessionSettings.PAGE_CHECKSUMS, true));
  }

  private static void endWith(long pid, String scratch) {
    ProcessHandle.of(pid)
        .ifPresentOrElse(owner -> owner.onExit().thenRun(() -> end(scratch)), () -> end(scratch));
  }

  /** An owner that was killed could not remove the folder, in which the settings are. */
  private static void end(String scratch) {
    if (!scratch.isEmpty()) {
      ShutdownHookManager.get()
          .addShutdownHook(() -> FileUtils.deleteQuietly(new File(scratch)), AFTER_SPARK);
    }
    System.exit(0);
  }

  @Override
  public ExecutorPlugin executorPlugin() {
    return new ExecutorPlugin() {
      @Override
      public void init(PluginContext context, Map<String, String> extra) {
        prepare(context.conf());
        if (!context.executorID().equals(DRIVER)) {
          registerReads(context); // a driver that runs tasks has them by its own plug-in
        }
      }
    };
  }
}
