package io.keylake.pipelines.encodings;

import com.fasterxml.jackson.databind.JsonNode;
import org.jspecify.annotations.Nullable;

/**
 * A key or value of a message.
 *
 * @param value its values have the forms that rows of changes have, as far as types are known
 * @param type what a schema says of it, null where there is none
 */
public record Document(JsonNode value, @Nullable ValueType type) {
  /** The member of an object; null where it is not there, or null. */
  public @Nullable JsonNode member(String name) {
    JsonNode found = value.get(name);
    return found == null || found.isNull() ? null : found;
  }

  /** The text of a member, or an error that says that the format needs it. */
  public String text(String name) throws BadMessage {
    JsonNode found = member(name);
    if (found == null || !found.isTextual()) {
      throw new BadMessage("it has no text '%s', which the format needs".formatted(name));
    }
    return found.textValue();
  }
}
