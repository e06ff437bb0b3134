package io.keylake.spark.access;

import java.util.Arrays;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.spark.sql.connector.catalog.Identifier;

/**
 * The names in a catalog that a session may know of. A table that no rule of the policy names for
 * its principal is not there for it; without a policy all are.
 */
public final class SeenNames {
  private SeenNames() {}

  /** The session of this thread may name the table, or the part of one. */
  public static boolean isSeen(String catalog, Identifier name) {
    String[] above = name.namespace();
    return isAll()
        || AccessControl.isSeen(full(catalog, above, name.name()))
        || (above.length > 1 && AccessControl.isSeen(full(catalog, above)));
  }

  /** The tables or views of a list that the session of this thread may name. */
  public static Identifier[] tables(String catalog, Identifier... names) {
    return Arrays.stream(names).filter(name -> isSeen(catalog, name)).toArray(Identifier[]::new);
  }

  /** The namespaces of a list in which it may name a table. */
  public static String[][] namespaces(String catalog, String[]... namespaces) {
    return Arrays.stream(namespaces)
        .filter(each -> isAll() || AccessControl.isNamespaceSeen(full(catalog, each)))
        .toArray(String[][]::new);
  }

  private static boolean isAll() {
    return AccessControl.ofServer() == null || ServerWork.isRunning();
  }

  /** The name of a table, or of a namespace, as rules have it. */
  public static String full(String catalog, String[] namespace, String... name) {
    return Stream.of(Stream.of(catalog), Arrays.stream(namespace), Arrays.stream(name))
        .flatMap(each -> each)
        .collect(Collectors.joining("."));
  }
}
