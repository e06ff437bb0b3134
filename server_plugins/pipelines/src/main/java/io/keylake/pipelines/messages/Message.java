package io.keylake.pipelines.messages;

import com.fasterxml.jackson.databind.node.BinaryNode;
import com.fasterxml.jackson.databind.node.TextNode;
import io.keylake.pipelines.encodings.BadMessage;
import io.keylake.pipelines.encodings.Document;
import io.keylake.pipelines.encodings.Encoding;
import io.keylake.pipelines.encodings.JsonEncoding;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import org.jspecify.annotations.Nullable;

/** A message as it was read; its key is read when it is asked for. */
final class Message {
  private final String topic;
  private final long sent;
  private final byte @Nullable [] keyBytes;
  private final Encoding keys;
  private final @Nullable Document value;
  private @Nullable Document key;

  /**
   * @param sent when it was sent, in microseconds
   * @param value null where it has none
   */
  Message(
      String topic,
      long sent,
      byte @Nullable [] keyBytes,
      Encoding keys,
      @Nullable Document value) {
    this.topic = topic;
    this.sent = sent;
    this.keyBytes = keyBytes;
    this.keys = keys;
    this.value = value;
  }

  String topic() {
    return topic;
  }

  long sent() {
    return sent;
  }

  @Nullable Document value() {
    return value;
  }

  /** The key of the message; null where it has none. A key that is no JSON is a text, or bytes. */
  @Nullable Document key() throws BadMessage {
    if (key == null && keyBytes != null) {
      key = keys instanceof JsonEncoding ? plain(keyBytes) : keys.read(keyBytes);
    }
    return key;
  }

  private Document plain(byte[] bytes) {
    String text;
    try {
      text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      return new Document(new BinaryNode(bytes), null);
    }
    if (text.indexOf('\0') >= 0) { // Jackson would guess another encoding
      return new Document(new BinaryNode(bytes), null);
    }
    try {
      Document found = keys.read(bytes);
      boolean isWrittenSo = !found.value().isNumber() || found.value().asText().equals(text);
      return isWrittenSo ? found : new Document(new TextNode(text), null);
    } catch (BadMessage e) {
      return new Document(new TextNode(text), null);
    }
  }
}
