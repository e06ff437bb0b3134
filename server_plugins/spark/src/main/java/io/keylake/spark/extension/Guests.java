package io.keylake.spark.extension;

import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.ServiceConfigurationError;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.function.Function;
import org.apache.iceberg.spark.source.SparkTable;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.FunctionIdentifier;
import org.apache.spark.sql.catalyst.expressions.ExpressionInfo;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.jspecify.annotations.Nullable;
import scala.Tuple3;

/**
 * The guests of a server, in the order of their names, and what the server says where one of the
 * release is missing.
 */
public record Guests(List<KeylakeExtension> extensions) {
  private static @Nullable Guests loaded;

  public Guests {
    extensions = extensions.stream().sorted(Comparator.comparing(KeylakeExtension::name)).toList();
  }

  /**
   * The guests whose jars lie beside that of the core. Jars that users give their sessions are not
   * searched.
   */
  public static synchronized Guests loaded() {
    if (loaded == null) {
      ClassLoader loader = KeylakeExtension.class.getClassLoader();
      try {
        Guests found =
            new Guests(
                ServiceLoader.load(KeylakeExtension.class, loader).stream()
                    .map(ServiceLoader.Provider::get)
                    .toList());
        found.extensions.forEach(
            each ->
                checkVersion(each.name(), each.getClass().getPackage().getImplementationVersion()));
        loaded = found;
      } catch (ServiceConfigurationError e) {
        throw new KeylakeException(
            UNSUPPORTED,
            "a guest of keylake %s cannot be loaded: %s; start the server with keylake jars of one version"
                .formatted(EngineVersions.keylake(), e.getMessage()),
            e);
      }
    }
    return loaded;
  }

  /**
   * Refuses the jar of another release.
   *
   * @param version that the jar of the guest says; null for classes that are not in a jar
   */
  static void checkVersion(String name, @Nullable String version) {
    if (version != null && !version.equals(EngineVersions.keylake())) {
      throw new KeylakeException(
          UNSUPPORTED,
          "the server has %s %s and keylake %s; start it with jars of one version"
              .formatted(name, version, EngineVersions.keylake()));
    }
  }

  /** Adds functions and rules of all guests, and functions that say which guest is missing. */
  public void addTo(SparkSessionExtensions session) {
    extensions.forEach(each -> each.addTo(session));
    missing().forEach(guest -> guest.functions().forEach(name -> addMissing(session, guest, name)));
  }

  private static void addMissing(SparkSessionExtensions session, KnownGuest guest, String name) {
    session.injectFunction(
        new Tuple3<>(
            new FunctionIdentifier(name),
            new ExpressionInfo(MissingProcedure.class.getName(), name),
            given -> {
              throw refusal("function '%s'".formatted(name), guest);
            }));
  }

  /**
   * The procedures of the core and of all guests, by name.
   *
   * @param core those of the core
   */
  public Map<String, UnboundProcedure> procedures(
      List<? extends UnboundProcedure> core, CatalogTables tables) {
    Map<String, UnboundProcedure> byName = new HashMap<>();
    Map<String, String> owners = new HashMap<>();
    core.forEach(each -> add(byName, owners, each, "keylake"));
    extensions.forEach(
        guest -> guest.procedures(tables).forEach(each -> add(byName, owners, each, guest.name())));
    return Map.copyOf(byName);
  }

  private static void add(
      Map<String, UnboundProcedure> byName,
      Map<String, String> owners,
      UnboundProcedure procedure,
      String owner) {
    String other = owners.putIfAbsent(procedure.name(), owner);
    if (other != null) {
      throw given("procedure", procedure.name(), other, owner);
    }
    byName.put(procedure.name(), procedure);
  }

  /** A procedure that refuses its calls, as it belongs to a guest that is missing; else null. */
  public @Nullable UnboundProcedure missingProcedure(String name) {
    return owner(name, KnownGuest::procedures)
        .map(
            guest ->
                new MissingProcedure(name, () -> refusal("procedure '%s'".formatted(name), guest)))
        .orElse(null);
  }

  /** The tasks of maintenance for plain tables, by the property that asks for each, in order. */
  public Map<String, MaintenanceTask> tasks() {
    Map<String, MaintenanceTask> byProperty = new LinkedHashMap<>();
    Map<String, String> owners = new HashMap<>();
    for (KeylakeExtension guest : extensions) {
      for (MaintenanceTask task : guest.tasks()) {
        String other = owners.putIfAbsent(task.property(), guest.name());
        if (other != null) {
          throw given("property", task.property(), other, guest.name());
        }
        byProperty.put(task.property(), task);
      }
    }
    return byProperty;
  }

  /** A property of plain tables is that of a guest, which may be missing. */
  public boolean hasProperty(String name) {
    return tasks().containsKey(name) || owner(name, KnownGuest::properties).isPresent();
  }

  /** Refuses a value that a property of a guest cannot have, and each value without the guest. */
  public void checkProperty(String name, String value) {
    MaintenanceTask task = tasks().get(name);
    if (task == null) {
      throw refusal(
          "property '%s'".formatted(name), owner(name, KnownGuest::properties).orElseThrow());
    }
    task.check(value);
  }

  /** A sentence for each property of a plain table that has no effect, as its guest is missing. */
  public List<String> undone(Map<String, String> properties) {
    return missing().stream()
        .flatMap(
            guest ->
                guest.properties().stream()
                    .filter(properties::containsKey)
                    .sorted()
                    .map(name -> refusal("property '%s'".formatted(name), guest).sentence()))
        .toList();
  }

  /** The form in which statements see a plain table. */
  public SparkTable plain(SparkTable loaded) {
    SparkTable table = loaded;
    for (KeylakeExtension guest : extensions) {
      table = guest.plain(table);
    }
    return table;
  }

  private List<KnownGuest> missing() {
    List<String> names = extensions.stream().map(KeylakeExtension::name).toList();
    return Arrays.stream(KnownGuest.values())
        .filter(guest -> !names.contains(guest.jar()))
        .toList();
  }

  /** The missing guest that a name belongs to. */
  private Optional<KnownGuest> owner(String name, Function<KnownGuest, Set<String>> names) {
    return missing().stream().filter(guest -> names.apply(guest).contains(name)).findFirst();
  }

  private static KeylakeException refusal(String what, KnownGuest guest) {
    String version = EngineVersions.keylake();
    return new KeylakeException(
        UNSUPPORTED,
        "%s needs %s-%s.jar, which the server does not have; add the jar beside keylake-server-%s.jar and start the server again"
            .formatted(what, guest.jar(), version, version));
  }

  private static KeylakeException given(String what, String name, String first, String second) {
    return new KeylakeException(
        UNSUPPORTED,
        "both %s and %s have the %s '%s'; start the server without the jar of one of them"
            .formatted(first, second, what, name));
  }
}
