package io.keylake.tables.spec;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.SerializationFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.keylake.tables.GuestApi;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.TableSpec.ColumnGroup;
import io.keylake.tables.spec.TableSpec.Versions;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of a {@link TableSpec}: which members there are, and of which type their values.
 *
 * <p>Only the shape is checked here, and strictly: a spec of a newer version, a member that is not
 * known, or a value of another type is refused, because guessing would read a table wrongly. What
 * the values mean is checked by the spec.
 */
@GuestApi
public final class SpecJson {
  private static final JsonMapper JSON =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .enable(SerializationFeature.ORDER_MAP_ENTRIES_BY_KEYS)
          .build();
  private static final Set<String> MEMBERS =
      Set.of(
          "spec_version",
          "key",
          "versions",
          "ordering",
          "buckets",
          "bucket_by",
          "partition_by",
          "reducers",
          "column_groups",
          "groups",
          "hash");

  private SpecJson() {}

  public static JsonNode parse(String json) {
    return parse("the table spec", json);
  }

  public static JsonNode parse(String what, String json) {
    try {
      return JSON.readTree(json);
    } catch (JsonProcessingException e) {
      throw new KeylakeException(
          DEFINITION,
          "%s is not JSON (%s): %s".formatted(what, e.getOriginalMessage(), shorten(json)));
    }
  }

  /** Members in the order of their names, no white space. */
  public static String write(Object members) {
    try {
      return JSON.writeValueAsString(members);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("a table spec cannot be written as JSON", e);
    }
  }

  /** Reads a spec from an object that may also have the members named in {@code beside}. */
  static TableSpec read(JsonNode node, Set<String> beside) {
    if (!node.isObject()) {
      throw new KeylakeException(
          DEFINITION, "a table spec is a JSON object, not " + shorten(node.toString()));
    }
    checkVersion(node.path("spec_version"));
    Set<String> known = new HashSet<>(MEMBERS);
    known.addAll(beside);
    refuseUnknown(node, known, "the table spec");
    return new TableSpec(
        strings(node, "key", true),
        versions(text(node, "versions")),
        node.path("ordering").isNull() ? null : optionalText(node, "ordering"),
        wholeNumber(node, "buckets"),
        strings(node, "bucket_by", true),
        strings(node, "partition_by", false),
        reducers(object(node, "reducers")),
        columnGroups(object(node, "column_groups")),
        keyGroups(node));
  }

  static Map<String, Object> members(TableSpec spec) {
    Map<String, Object> members = new TreeMap<>();
    members.put("spec_version", TableSpec.SPEC_VERSION);
    members.put("key", spec.key());
    members.put("versions", nameOf(spec.versions()));
    members.put("ordering", spec.ordering());
    members.put("buckets", spec.buckets());
    members.put("bucket_by", spec.bucketBy());
    members.put("partition_by", spec.partitionBy());
    Map<String, Object> reducers = new TreeMap<>();
    spec.reducers()
        .forEach((column, reducer) -> reducers.put(column, ReducerForm.members(reducer)));
    members.put("reducers", reducers);
    Map<String, Object> groups = new TreeMap<>();
    spec.columnGroups()
        .forEach(
            (name, group) ->
                groups.put(name, Map.of("columns", group.columns(), "doc", group.doc())));
    members.put("column_groups", groups);
    if (spec.groups() != null) {
      members.put("groups", spec.groups().count());
      members.put("hash", spec.groups().hash());
    }
    return members;
  }

  static String nameOf(Versions versions) {
    return versions.name().toLowerCase(Locale.ROOT);
  }

  private static void checkVersion(JsonNode version) {
    if (!version.isIntegralNumber() || !version.equals(JSON.valueToTree(TableSpec.SPEC_VERSION))) {
      boolean isNewer = version.isIntegralNumber() && version.asDouble() > TableSpec.SPEC_VERSION;
      throw new KeylakeException(
          DEFINITION,
          "the table spec has spec_version %s and this server reads %d; %s"
              .formatted(
                  version.isMissingNode() ? "missing" : shorten(version.toString()),
                  TableSpec.SPEC_VERSION,
                  isNewer ? "use a newer server" : "write the spec with the SDK"));
    }
  }

  static Versions versions(String text) {
    for (Versions source : Versions.values()) {
      if (nameOf(source).equals(text)) {
        return source;
      }
    }
    throw new KeylakeException(
        DEFINITION,
        "versions is '%s'; it must be 'ordering', 'commit' or 'explicit'".formatted(text));
  }

  private static Map<String, Reducer> reducers(JsonNode node) {
    Map<String, Reducer> reducers = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      object(node, entry.getKey());
      reducers.put(entry.getKey(), ReducerForm.parse(entry.getKey(), entry.getValue()));
    }
    return reducers;
  }

  private static Map<String, ColumnGroup> columnGroups(JsonNode node) {
    Map<String, ColumnGroup> groups = new HashMap<>();
    for (Map.Entry<String, JsonNode> entry : node.properties()) {
      JsonNode form = object(node, entry.getKey());
      refuseUnknown(form, Set.of("columns", "doc"), "the column group '" + entry.getKey() + "'");
      String doc = form.has("doc") ? text(form, "doc") : "";
      groups.put(entry.getKey(), new ColumnGroup(strings(form, "columns", true), doc));
    }
    return groups;
  }

  /** The groups of keys; null for a table without them. */
  private static @Nullable KeyGroups keyGroups(JsonNode node) {
    if (node.has("groups") != node.has("hash")) {
      throw new KeylakeException(
          DEFINITION,
          "the table spec has only one of 'groups' and 'hash'; groups of keys need both, so name the other or drop it");
    }
    return node.has("groups")
        ? new KeyGroups(wholeNumber(node, "groups"), text(node, "hash"))
        : null;
  }

  private static void refuseUnknown(JsonNode node, Set<String> known, String what) {
    List<String> unknown = unknown(node, known);
    if (!unknown.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "%s has the option '%s', which this server does not know; use a newer server or drop the option"
              .formatted(what, unknown.get(0)));
    }
  }

  /** The names of an object's members that are not known, in their order. */
  public static List<String> unknown(JsonNode node, Collection<String> known) {
    List<String> unknown = new ArrayList<>();
    node.fieldNames().forEachRemaining(unknown::add);
    unknown.removeAll(known);
    return unknown;
  }

  /** A member that is text; null where it is missing. */
  static @Nullable String optionalText(JsonNode node, String name) {
    return node.has(name) ? text(node, name) : null;
  }

  private static String text(JsonNode node, String name) {
    JsonNode member = node.path(name);
    check(member, name, member.isTextual(), "text");
    return member.textValue();
  }

  private static int wholeNumber(JsonNode node, String name) {
    JsonNode member = node.path(name);
    check(member, name, member.isInt(), "a whole number of 32 bits");
    return member.intValue();
  }

  private static List<String> strings(JsonNode node, String name, boolean required) {
    List<String> strings = new ArrayList<>();
    JsonNode member = node.path(name);
    if (member.isMissingNode() && !required) {
      return strings;
    }
    check(member, name, member.isArray(), "a list of names");
    for (JsonNode element : member) {
      check(member, name, element.isTextual(), "a list of names");
      strings.add(element.textValue());
    }
    return strings;
  }

  /** A member that is an object; an empty one where it is missing. */
  private static JsonNode object(JsonNode node, String name) {
    JsonNode member = node.path(name);
    check(member, name, member.isObject() || member.isMissingNode(), "an object");
    return member;
  }

  private static void check(JsonNode member, String name, boolean fits, String wanted) {
    if (!fits) {
      throw new KeylakeException(
          DEFINITION,
          member.isMissingNode()
              ? "the table spec lacks '%s'; write it with the SDK".formatted(name)
              : "the table spec has %s as '%s', which is not %s; write it with the SDK"
                  .formatted(shorten(member.toString()), name, wanted));
    }
  }

  private static String shorten(String text) {
    return text.length() <= 200 ? text : text.substring(0, 200) + "...";
  }
}
