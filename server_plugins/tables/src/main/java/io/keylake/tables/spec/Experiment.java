package io.keylake.tables.spec;

import com.fasterxml.jackson.databind.JsonNode;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * Columns of its own that an experiment has beside those of main:
 *
 * <ol>
 *   <li>They are columns of the Iceberg schema. A table property names them by field id, and main
 *       neither shows nor writes them.
 *   <li>Their values lie in the files of a branch that has no other files. No file of main belongs
 *       to that branch, and none of its files to main.
 *   <li>A read of the experiment merges the files of both. A write to it carries the key and its
 *       own columns only.
 * </ol>
 *
 * @param added field ids of its own columns
 * @param dropped field ids of columns of main that it does not show
 */
public record Experiment(String name, List<Integer> added, List<Integer> dropped) {
  /** The text before the name of the experiment in the name of its branch. */
  public static final String BRANCH = "experiment_";

  /**
   * Set once an experiment was promoted in a table whose versions are commit times: its older
   * commits came to main after newer ones, so versions say what is newer, and not the order of
   * commits.
   */
  public static final String VERSIONS_DECIDE = "keylake.versions_decide";

  private static final String PREFIX = "keylake.experiment.";

  /**
   * The property's name before the first field id of an experiment that was dropped: older schemas
   * have its columns.
   */
  private static final String GONE = "keylake.dropped_experiment.";

  /**
   * The property's name before the first field id of an experiment that was promoted: schemas from
   * before that have its columns, which main did not show then.
   */
  private static final String PROMOTED = "keylake.promoted_experiment.";

  private static final String SHOWN_FROM = "shown_from_schema";

  public Experiment {
    added = List.copyOf(added);
    dropped = List.copyOf(dropped);
  }

  /** All experiments of a table, by name. */
  public static List<Experiment> all(Map<String, String> properties) {
    List<Experiment> all = new ArrayList<>();
    new TreeMap<>(properties)
        .forEach(
            (property, json) -> {
              if (property.startsWith(PREFIX)) {
                all.add(parse(property.substring(PREFIX.length()), json));
              }
            });
    return all;
  }

  /** The experiment of a name; null where the table has none. */
  public static @Nullable Experiment named(Map<String, String> properties, String name) {
    String json = properties.get(PREFIX + name);
    return json == null ? null : parse(name, json);
  }

  /** The experiment whose branch it is; null for main and all other branches. */
  public static @Nullable Experiment ofBranch(
      Map<String, String> properties, @Nullable String branch) {
    return branch != null && branch.startsWith(BRANCH)
        ? named(properties, branch.substring(BRANCH.length()))
        : null;
  }

  /**
   * Field ids of the columns that main does not show.
   *
   * @param schema the id of the schema that it is read with: columns of an experiment that was
   *     promoted are hidden in those from before
   */
  static Set<Integer> hidden(Map<String, String> properties, int schema) {
    Set<Integer> hidden = new HashSet<>();
    properties.forEach(
        (property, json) -> {
          if (property.startsWith(PREFIX)
              || property.startsWith(GONE)
              || (property.startsWith(PROMOTED)
                  && schema < SpecJson.parse(json).path(SHOWN_FROM).asInt())) {
            hidden.addAll(parse(property, json).added);
          }
        });
    return hidden;
  }

  private static Experiment parse(String name, String json) {
    JsonNode node = SpecJson.parse(json);
    return new Experiment(name, ids(node.path("added")), ids(node.path("dropped")));
  }

  private static List<Integer> ids(JsonNode list) {
    List<Integer> ids = new ArrayList<>();
    list.forEach(each -> ids.add(each.asInt()));
    return ids;
  }

  /** The name of the branch that has its files. */
  public String branch() {
    return BRANCH + name;
  }

  /** The name of the property that it is said by. */
  public String property() {
    return PREFIX + name;
  }

  /** The property by which its columns stay hidden once it was dropped. */
  public String propertyOnceGone() {
    return GONE + (added.isEmpty() ? name : added.get(0));
  }

  /** The property by which its columns stay hidden in older schemas once it was promoted. */
  public String propertyOncePromoted() {
    return PROMOTED + added.get(0);
  }

  /**
   * The text of that property.
   *
   * @param schema the id of the first schema in which main shows the columns
   */
  public String promotedJson(int schema) {
    return SpecJson.write(new TreeMap<>(Map.of("added", added, SHOWN_FROM, schema)));
  }

  /** The text of its property. */
  public String toJson() {
    return SpecJson.write(new TreeMap<>(Map.of("added", added, "dropped", dropped)));
  }
}
