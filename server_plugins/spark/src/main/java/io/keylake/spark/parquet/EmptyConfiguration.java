package io.keylake.spark.parquet;

import java.io.IOException;
import java.net.URL;
import java.util.Collections;
import java.util.Enumeration;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The class loader of a thread while Iceberg makes the Hadoop configuration of a file: it has no
 * configuration files.
 *
 * <p>For each output file that is none of Hadoop's own, Iceberg's writer of Parquet makes a new
 * configuration, which looks for eight files on the whole class path and parses those that it
 * finds: most of what it takes to open a small file. The writer needs none of their settings. The
 * properties of the table say how to write, and no file system is opened by it.
 */
final class EmptyConfiguration extends ClassLoader {
  private static final ClassLoader LOADER = new EmptyConfiguration();

  private EmptyConfiguration() {
    super(EmptyConfiguration.class.getClassLoader());
  }

  /** The object that {@code builder} makes while a new configuration is empty. */
  static <T> T during(Supplier<T> builder) {
    Thread thread = Thread.currentThread();
    ClassLoader before = thread.getContextClassLoader();
    thread.setContextClassLoader(LOADER);
    try {
      return builder.get();
    } finally {
      thread.setContextClassLoader(before);
    }
  }

  @Override
  public @Nullable URL getResource(String name) {
    return isConfiguration(name) ? null : super.getResource(name);
  }

  @Override
  public Enumeration<URL> getResources(String name) throws IOException {
    return isConfiguration(name) ? Collections.emptyEnumeration() : super.getResources(name);
  }

  private static boolean isConfiguration(String name) {
    return name.endsWith(".xml");
  }
}
