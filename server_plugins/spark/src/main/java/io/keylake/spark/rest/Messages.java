package io.keylake.spark.rest;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.keylake.spark.rest.http.Failures;
import io.keylake.spark.rest.http.RequestRefused;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.iceberg.PartitionSpecParser;
import org.apache.iceberg.Schema;
import org.apache.iceberg.SchemaParser;
import org.apache.iceberg.SortOrderParser;
import org.apache.iceberg.TableProperties;
import org.apache.iceberg.catalog.Namespace;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.UnprocessableEntityException;
import org.apache.iceberg.rest.requests.CreateNamespaceRequest;
import org.apache.iceberg.rest.requests.CreateTableRequest;
import org.apache.iceberg.rest.requests.RenameTableRequest;
import org.apache.iceberg.rest.requests.UpdateNamespacePropertiesRequest;
import org.apache.iceberg.rest.responses.UpdateNamespacePropertiesResponse;
import org.apache.iceberg.util.PropertyUtil;
import org.jspecify.annotations.Nullable;

/**
 * The JSON of Iceberg's protocol. Where Iceberg has a parser from text, that one is used; its other
 * messages are read and written here, because it maps them with its own copy of Jackson.
 */
final class Messages {
  private static final JsonMapper JSON = JsonMapper.builder().build();
  private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
  private static final int DEFAULT_FORMAT_VERSION = 2; // Iceberg's, which it does not show

  private Messages() {}

  /** A body by a parser of Iceberg; its errors say what is wrong with the body. */
  static <T> T parsed(String body, Function<String, T> parser) {
    object(body);
    try {
      return parser.apply(body);
    } catch (RuntimeException e) {
      throw unusable(e);
    }
  }

  static CreateNamespaceRequest newNamespace(String body) {
    JsonNode json = object(body);
    return built(
        () ->
            CreateNamespaceRequest.builder()
                .withNamespace(namespace(json.path("namespace")))
                .setProperties(texts(json, "properties"))
                .build());
  }

  static UpdateNamespacePropertiesRequest newProperties(String body) {
    JsonNode json = object(body);
    return built(
        () ->
            UpdateNamespacePropertiesRequest.builder()
                .removeAll(list(json.path("removals")))
                .updateAll(texts(json, "updates"))
                .build());
  }

  static RenameTableRequest renaming(String body) {
    JsonNode json = object(body);
    return built(
        () ->
            RenameTableRequest.builder()
                .withSource(identifier(json.path("source")))
                .withDestination(identifier(json.path("destination")))
                .build());
  }

  static CreateTableRequest newTable(String body) {
    JsonNode json = object(body);
    return built(
        () -> {
          Schema schema = SchemaParser.fromJson(part(json, "schema"));
          Map<String, String> properties = texts(json, "properties");
          checkSchema(
              schema,
              PropertyUtil.propertyAsInt(
                  properties, TableProperties.FORMAT_VERSION, DEFAULT_FORMAT_VERSION));
          CreateTableRequest.Builder builder =
              CreateTableRequest.builder()
                  .withName(text(json.path("name"), "the name"))
                  .withLocation(json.path("location").textValue())
                  .withSchema(schema)
                  .setProperties(properties);
          if (json.hasNonNull("partition-spec")) {
            builder.withPartitionSpec(
                PartitionSpecParser.fromJson(schema, part(json, "partition-spec")));
          }
          if (json.hasNonNull("write-order")) {
            builder.withWriteOrder(SortOrderParser.fromJson(schema, part(json, "write-order")));
          }
          return json.path("stage-create").asBoolean()
              ? builder.stageCreate().build()
              : builder.build();
        });
  }

  /**
   * Refuses a schema with types or defaults that a format version has not: Iceberg finds that while
   * it commits, when other failures leave the outcome unknown.
   */
  static void checkSchema(Schema schema, int formatVersion) {
    try {
      Schema.checkCompatibility(schema, formatVersion);
    } catch (IllegalStateException e) {
      String problems =
          String.valueOf(e.getMessage())
              .lines()
              .skip(1)
              .map(each -> each.replaceFirst("^- ", ""))
              .collect(Collectors.joining("; "));
      throw RequestRefused.bad(
          "the schema does not fit format version %d: %s; create the table with the property %s, or leave that out"
              .formatted(formatVersion, problems, TableProperties.FORMAT_VERSION));
    }
  }

  static String namespace(Namespace namespace, Map<String, String> properties) {
    ObjectNode json = NODES.objectNode();
    json.set("namespace", array(List.of(namespace.levels())));
    ObjectNode texts = json.putObject("properties");
    properties.forEach(texts::put);
    return json.toString();
  }

  static String namespaces(List<Namespace> namespaces, @Nullable String nextPage) {
    ObjectNode json = NODES.objectNode();
    ArrayNode all = json.putArray("namespaces");
    namespaces.forEach(each -> all.add(array(List.of(each.levels()))));
    return withNext(json, nextPage).toString();
  }

  static String identifiers(List<TableIdentifier> identifiers, @Nullable String nextPage) {
    ObjectNode json = NODES.objectNode();
    ArrayNode all = json.putArray("identifiers");
    for (TableIdentifier each : identifiers) {
      ObjectNode identifier = all.addObject();
      identifier.set("namespace", array(List.of(each.namespace().levels())));
      identifier.put("name", each.name());
    }
    return withNext(json, nextPage).toString();
  }

  static String updated(UpdateNamespacePropertiesResponse response) {
    ObjectNode json = NODES.objectNode();
    json.set("removed", array(response.removed()));
    json.set("updated", array(response.updated()));
    json.set("missing", array(response.missing()));
    return json.toString();
  }

  private static ObjectNode withNext(ObjectNode json, @Nullable String nextPage) {
    return nextPage == null ? json : json.put("next-page-token", nextPage);
  }

  private static ArrayNode array(List<String> texts) {
    ArrayNode array = NODES.arrayNode();
    texts.forEach(array::add);
    return array;
  }

  private interface Building<T> {
    T build();
  }

  private static <T> T built(Building<T> building) {
    try {
      return building.build();
    } catch (RequestRefused | UnprocessableEntityException e) {
      throw e;
    } catch (RuntimeException e) {
      throw unusable(e);
    }
  }

  private static RequestRefused unusable(RuntimeException failure) {
    return RequestRefused.bad(
        "the body of the request cannot be used: %s; see Iceberg's REST specification"
            .formatted(Failures.firstLine(failure)));
  }

  /** A member that is an object, as text for a parser of Iceberg. */
  private static String part(JsonNode json, String member) {
    if (!json.path(member).isObject()) {
      throw RequestRefused.bad(
          "the body of the request has no %s; give it as an object".formatted(member));
    }
    return json.get(member).toString();
  }

  private static JsonNode object(String body) {
    try {
      JsonNode json = JSON.readTree(body);
      if (json != null && json.isObject()) {
        return json;
      }
      throw RequestRefused.bad(
          "the body of the request is no object in JSON; see Iceberg's REST specification");
    } catch (JsonProcessingException e) {
      throw RequestRefused.bad(
          e.getLocation() == null
              ? "the body of the request has more levels or longer texts than the catalog reads (%s)"
                  .formatted(Failures.firstLine(e))
              : "the body of the request is no JSON (line %d, column %d); see Iceberg's REST specification"
                  .formatted(e.getLocation().getLineNr(), e.getLocation().getColumnNr()));
    }
  }

  private static TableIdentifier identifier(JsonNode json) {
    return TableIdentifier.of(
        namespace(json.path("namespace")), text(json.path("name"), "the name of a table"));
  }

  private static Namespace namespace(JsonNode json) {
    List<String> levels = list(json);
    if (levels.isEmpty() || levels.contains("")) {
      throw RequestRefused.bad(
          "the namespace %s has no name; give its levels as a list of texts".formatted(json));
    }
    return Namespace.of(levels.toArray(new String[0]));
  }

  private static List<String> list(JsonNode json) {
    List<String> texts = new ArrayList<>();
    json.forEach(each -> texts.add(text(each, "a list")));
    return texts;
  }

  private static Map<String, String> texts(JsonNode json, String member) {
    Map<String, String> texts = new LinkedHashMap<>();
    json.path(member)
        .properties()
        .forEach(each -> texts.put(each.getKey(), text(each.getValue(), each.getKey())));
    return texts;
  }

  private static String text(JsonNode json, String what) {
    if (!json.isTextual() || json.textValue().isEmpty() && what.startsWith("the name")) {
      throw RequestRefused.bad(
          "%s in the body of the request is %s; give a text"
              .formatted(what, json.isMissingNode() ? "missing" : json.toString()));
    }
    return json.textValue();
  }
}
