package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;

/**
 * A type, and how a value that is not null gets the form that rows of changes have.
 *
 * @param type of the values afterwards
 */
public record Conversion(ValueType type, Body body) {
  /** The function that converts a value that is not null. */
  @FunctionalInterface
  public interface Body {
    JsonNode of(JsonNode value) throws BadMessage;
  }

  static final Body AS_IT_IS = value -> value;

  static Conversion none(ValueType type) {
    return new Conversion(type, AS_IT_IS);
  }

  public JsonNode of(JsonNode value) throws BadMessage {
    return value.isNull() ? value : body.of(value);
  }
}
