package io.keylake.pipelines.messages;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.pipelines.encodings.AvroEncoding;
import io.keylake.pipelines.encodings.Encoding;
import io.keylake.pipelines.encodings.JsonEncoding;
import io.keylake.tables.KeylakeException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * The way to read messages of topics, as the SDK says it in JSON: {@code {"format": ..., "keys":
 * {table: [columns]}, "version": [path], "schemas": {number: schema}, "schema": ..., "key_schema":
 * ..., "infers": ...}}. Only the format has to be there.
 */
public final class MessageFormat {
  private static final Set<String> NAMES =
      Set.of("debezium-json", "canal-json", "maxwell-json", "json", "avro", "debezium-avro");

  private final String name;
  private final Keys keys;
  private final List<String> version;
  private final @Nullable String schema;
  private final @Nullable String keySchema;
  private final Map<Integer, String> schemas;
  private final boolean infers;
  private final NotLogged notLogged;

  private MessageFormat(JsonNode said) {
    this.name = said.path("format").asText();
    this.keys =
        new Keys(
            JsonEncoding.MAPPER.convertValue(
                said.path("keys"), new TypeReference<HashMap<String, List<String>>>() {}));
    this.version =
        JsonEncoding.MAPPER.convertValue(
            said.path("version"), new TypeReference<List<String>>() {});
    this.schema = said.path("schema").textValue();
    this.keySchema = said.path("key_schema").textValue();
    this.schemas =
        JsonEncoding.MAPPER.convertValue(
            said.path("schemas"), new TypeReference<HashMap<Integer, String>>() {});
    this.infers = said.path("infers").asBoolean();
    this.notLogged = NotLogged.of(said.path("placeholder").textValue());
  }

  /** Reads it, and refuses what no message could be read by. */
  public static MessageFormat fromJson(String text) {
    try {
      JsonNode said = JsonEncoding.MAPPER.readTree(text);
      for (String name : List.of("keys", "schemas")) {
        if (!said.path(name).isObject()) {
          ((com.fasterxml.jackson.databind.node.ObjectNode) said).putObject(name);
        }
      }
      if (!said.path("version").isArray()) {
        ((com.fasterxml.jackson.databind.node.ObjectNode) said).putArray("version");
      }
      MessageFormat format = new MessageFormat(said);
      format.check();
      return format;
    } catch (JsonProcessingException | IllegalArgumentException | ClassCastException e) {
      throw new KeylakeException(
          DEFINITION,
          "'%s' is no format of messages; write {\"format\": \"json\"}".formatted(text));
    }
  }

  private void check() {
    if (!NAMES.contains(name)) {
      throw new KeylakeException(
          DEFINITION,
          "there is no format '%s'; known are %s"
              .formatted(name, String.join(", ", NAMES.stream().sorted().toList())));
    }
    if (isAvro() && schema == null && schemas.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "format '%s' was given no schema; give one, or schemas by their numbers".formatted(name));
    }
    values();
    keys();
  }

  private boolean isAvro() {
    return name.endsWith("avro");
  }

  Encoding values() {
    return isAvro() ? new AvroEncoding(schema, schemas) : new JsonEncoding();
  }

  /** A key without a schema of its own is read as JSON, or as text. */
  Encoding keys() {
    return isAvro() && (keySchema != null || schema == null)
        ? new AvroEncoding(keySchema, schemas)
        : new JsonEncoding();
  }

  Envelope envelope() {
    return switch (name) {
      case "debezium-json", "debezium-avro" -> new Debezium(keys, notLogged);
      case "canal-json" -> new Canal(keys);
      case "maxwell-json" -> new Maxwell(keys);
      default -> new Plain(keys);
    };
  }

  /** The path of the field that says the version; empty: the offset does. */
  List<String> version() {
    return version;
  }

  /** Rows tell of the columns of their tables. */
  boolean infers() {
    return infers;
  }
}
