package io.keylake.spark.catalog;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** The version of this plug-in, which a client compares with its own. */
public final class KeylakeVersion {
  private KeylakeVersion() {}

  public static String get() {
    try (InputStream resource = KeylakeVersion.class.getResourceAsStream("version.properties")) {
      Properties properties = new Properties();
      properties.load(resource);
      return properties.getProperty("version");
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }
}
