package io.keylake.tables.simulator;

import java.io.IOException;
import java.io.InputStream;
import java.io.StringWriter;
import java.lang.reflect.InvocationTargetException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import javax.tools.ToolProvider;
import org.jspecify.annotations.Nullable;

/**
 * A fault that is put into the product: one text in one source becomes another.
 *
 * @param file below {@code io/keylake}
 */
record Mutant(String file, String before, String after) {
  private static final String PACKAGE = "io.keylake.";

  /**
   * Reads mutants: three lines each, and comments.
   *
   * <pre>
   *   tables/commits/Rollback.java
   *   - Lineage.check(table, to);
   *   + ;
   * </pre>
   */
  static List<Mutant> parse(String text) {
    List<Mutant> mutants = new ArrayList<>();
    String file = "";
    String before = "";
    for (String line : text.lines().toList()) {
      if (line.startsWith("- ")) {
        before = line.substring(2);
      } else if (line.startsWith("+ ")) {
        mutants.add(new Mutant(file, before, line.substring(2)));
      } else if (!line.isBlank() && !line.startsWith("#")) {
        file = line.strip();
      }
    }
    return mutants;
  }

  /** Compiles the changed source, runs seeds with it, and says the first that breaks a law. */
  @Nullable String firstBroken(Path folder, int seeds) throws Exception {
    Path changed = folder.resolve("io/keylake").resolve(file);
    Files.createDirectories(changed.getParent());
    Files.writeString(changed, source());
    StringWriter said = new StringWriter();
    Path classes = Files.createDirectories(folder.resolve("classes"));
    boolean isCompiled =
        ToolProvider.getSystemJavaCompiler()
            .getTask(
                said,
                null,
                null,
                List.of(
                    "-nowarn",
                    "-proc:none",
                    "-cp",
                    System.getProperty("java.class.path"),
                    "-d",
                    classes.toString()),
                null,
                ToolProvider.getSystemJavaCompiler()
                    .getStandardFileManager(null, null, null)
                    .getJavaFileObjects(changed))
            .call();
    if (!isCompiled) {
      throw new AssertionError(this + " is not Java: " + said);
    }
    Class<?> run = Class.forName(Seeds.class.getName(), true, new Loader(classes));
    try {
      return (String) run.getMethod("firstBroken", int.class).invoke(null, seeds);
    } catch (InvocationTargetException e) {
      return "0\t" + e.getCause();
    }
  }

  /** The changed source; an error where the source has not the text, or has it several times. */
  String source() throws IOException {
    String module = file.substring(0, file.indexOf('/'));
    String source = Files.readString(Path.of("..", module, "src/main/java/io/keylake", file));
    int at = source.indexOf(before);
    if (at < 0 || source.indexOf(before, at + 1) >= 0) {
      throw new AssertionError(
          "%s has '%s' %s; it has to have it once"
              .formatted(file, before, at < 0 ? "nowhere" : "several times"));
    }
    return source.replace(before, after);
  }

  /** Has all classes of keylake for itself, the changed one among them. */
  private static final class Loader extends ClassLoader {
    private final Path changed;

    Loader(Path changed) {
      super(Mutant.class.getClassLoader());
      this.changed = changed;
    }

    @Override
    protected Class<?> loadClass(String name, boolean resolve) throws ClassNotFoundException {
      if (!name.startsWith(PACKAGE)) {
        return super.loadClass(name, resolve);
      }
      synchronized (getClassLoadingLock(name)) {
        Class<?> loaded = findLoadedClass(name);
        return loaded == null ? defined(name) : loaded;
      }
    }

    private Class<?> defined(String name) throws ClassNotFoundException {
      String path = name.replace('.', '/') + ".class";
      try (InputStream in =
          Files.exists(changed.resolve(path))
              ? Files.newInputStream(changed.resolve(path))
              : getParent().getResourceAsStream(path)) {
        if (in == null) {
          throw new ClassNotFoundException(name);
        }
        byte[] bytes = in.readAllBytes();
        return defineClass(name, bytes, 0, bytes.length);
      } catch (IOException e) {
        throw new ClassNotFoundException(name, e);
      }
    }
  }
}
