package io.keylake.pipelines.messages;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.Encoding;
import io.keylake.pipelines.encodings.JsonEncoding;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Messages of a task as changes of rows.
 *
 * <pre>
 *   bytes ── Encoding ──▶ document ── Envelope ──▶ rows ──▶ version = base * 4096 + place in the message
 *     └────────────── what one of them refuses ──────────▶ one change with an error
 * </pre>
 */
public final class MessageReader {
  /** The number of changes that a message may have: each has a version of its own. */
  public static final int MOST_CHANGES = 4096;

  private final Encoding values;
  private final Encoding keys;
  private final Envelope envelope;
  private final List<String> version;
  private final @Nullable FoundColumns found;
  private final Fields fields = new Fields();
  private final @Nullable KnownShapes shapes;

  public MessageReader(MessageFormat format) {
    this.values = format.values();
    this.keys = format.keys();
    this.envelope = format.envelope();
    this.version = format.version();
    this.found = format.infers() ? new FoundColumns() : null;
    boolean areRows = envelope instanceof Plain && values instanceof JsonEncoding;
    this.shapes = areRows && version.isEmpty() ? new KnownShapes(format.infers()) : null;
  }

  /**
   * The changes of a message in their order.
   *
   * @param sent when it was sent, in microseconds
   */
  public List<Change> read(
      String topic, long offset, long sent, byte @Nullable [] key, byte @Nullable [] value) {
    try {
      if (shapes != null && value != null && shapes.has(topic, value)) {
        Message known = new Message(topic, sent, key, keys, null);
        if (((Plain) envelope).key(known).equals(shapes.key(topic))) {
          return List.of(new Change(topic, Plain.WRITE, value, of(offset, 0), sent, null, null));
        }
      }
      Document document = value == null ? null : values.read(value);
      List<Envelope.Row> rows = envelope.rows(new Message(topic, sent, key, keys, document));
      if (rows.size() > MOST_CHANGES) {
        throw new BadMessage(
            "it has %d changes, and a message may have %d".formatted(rows.size(), MOST_CHANGES));
      }
      long base = rows.isEmpty() || version.isEmpty() ? offset : version(document);
      List<Change> changes = new ArrayList<>(rows.size());
      for (Envelope.Row row : rows) {
        fields.check(row);
        if (found != null) {
          Fields.flatten(row);
        }
        byte[] json = JsonEncoding.MAPPER.writeValueAsBytes(row.row());
        Fields.checkTexts(row, json);
        long of = of(base, changes.size());
        String told = found == null ? null : found.add(row);
        changes.add(new Change(row.table(), row.op(), json, of, row.at(), null, told));
        if (shapes != null && document != null && document.type() == null) {
          shapes.add(topic, row);
        }
      }
      return changes;
    } catch (BadMessage e) {
      return List.of(refused(value == null ? key : value, e.reason()));
    } catch (StackOverflowError e) { // JSON takes more levels than all that walk through it
      return List.of(refused(value, "its values are nested too deeply"));
    } catch (ArithmeticException e) {
      return List.of(
          refused(value, "its version times %d has more than 64 bits".formatted(MOST_CHANGES)));
    } catch (JsonProcessingException e) {
      return List.of(
          refused(value, "its rows cannot be written as JSON: " + e.getOriginalMessage()));
    } catch (RuntimeException e) { // one message that nobody has thought of does not end all others
      String why = String.valueOf(e.getMessage()).lines().findFirst().orElse("");
      return List.of(
          refused(
              value == null ? key : value,
              "it cannot be read: %s %s".formatted(e.getClass().getSimpleName(), why).strip()));
    }
  }

  /** The version of a change, by its place in the message. */
  private static long of(long base, int place) {
    return Math.addExact(Math.multiplyExact(base, MOST_CHANGES), place);
  }

  private long version(@Nullable Document document) throws BadMessage {
    JsonNode found = document == null ? null : document.value();
    for (String name : version) {
      found = found == null ? null : found.get(name);
    }
    if (found != null && found.isIntegralNumber() && found.canConvertToLong()) {
      return found.longValue();
    }
    if (found != null && found.isTextual()) {
      try {
        return Long.parseLong(found.textValue());
      } catch (NumberFormatException e) {
        // said below
      }
    }
    throw new BadMessage(
        "it has no whole number at '%s', which is to be its version"
            .formatted(String.join(".", version)));
  }

  private static Change refused(byte @Nullable [] message, String reason) {
    byte[] text = message == null ? new byte[0] : message;
    try {
      StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(text));
    } catch (CharacterCodingException e) {
      text = Base64.getEncoder().encode(text);
    }
    return new Change(null, null, text, null, null, reason, null);
  }
}
