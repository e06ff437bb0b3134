package io.keylake.spark.extension;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;
import org.apache.iceberg.IcebergBuild;
import org.apache.spark.SparkBuildInfo;

/**
 * The releases of Spark and Iceberg that the plug-in runs on. It uses classes of both that are not
 * meant for others: they are the same, or their differences are known here, in all patch releases
 * of one minor release, and may be anything in the next.
 */
public final class EngineVersions {
  private EngineVersions() {}

  /** The version of the plug-in, which its guests have too and a client compares with its own. */
  public static String keylake() {
    return builtWith("keylake");
  }

  /** Refuses another Spark or Iceberg than those the plug-in was built for. */
  public static void check() {
    check("Spark", SparkBuildInfo.spark_version(), builtWith("spark"));
    check("Iceberg", IcebergBuild.version(), builtWith("iceberg"));
  }

  /**
   * @param running the version that the server has
   * @param built the version that the plug-in was compiled with
   */
  static void check(String engine, String running, String built) {
    String minor = minor(built);
    if (!minor(running).equals(minor)) {
      throw new KeylakeException(
          UNSUPPORTED,
          "keylake %s runs on %s %s, and this server has %s %s; start it with a release %s.x of %s, or install a keylake that was built for it"
              .formatted(keylake(), engine, minor, engine, running, minor, engine));
    }
  }

  private static String builtWith(String name) {
    try (InputStream resource = EngineVersions.class.getResourceAsStream("versions.properties")) {
      Properties properties = new Properties();
      properties.load(resource);
      return properties.getProperty(name);
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static String minor(String version) {
    String[] parts = version.split("[.-]", 3);
    return parts.length < 2 ? version : parts[0] + "." + parts[1];
  }
}
