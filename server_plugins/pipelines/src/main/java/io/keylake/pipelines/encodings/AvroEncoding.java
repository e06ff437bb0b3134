package io.keylake.pipelines.encodings;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;

import io.keylake.tables.KeylakeException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.HashMap;
import java.util.Map;
import java.util.TreeSet;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.DecoderFactory;
import org.jspecify.annotations.Nullable;

/**
 * Avro: by one schema, or by the schema whose number stands in front of each message, as clients of
 * a schema registry write it: a byte 0, then the number in four bytes.
 */
public final class AvroEncoding implements Encoding {
  private static final int HEADER = 5;

  private final Map<Integer, Reader> byNumber = new HashMap<>();
  private final @Nullable Reader only;
  private @Nullable BinaryDecoder decoder;

  private record Reader(GenericDatumReader<Object> reader, AvroValues values) {
    static Reader of(String text) {
      try {
        Schema schema = new Schema.Parser().parse(text);
        return new Reader(new GenericDatumReader<>(schema), AvroValues.of(schema));
      } catch (AvroRuntimeException e) {
        throw new KeylakeException(
            DEFINITION,
            "a schema of Avro cannot be used: %s; give it as its JSON".formatted(e.getMessage()));
      }
    }
  }

  /**
   * @param schemas by their numbers; used if there is no single one
   */
  public AvroEncoding(@Nullable String single, Map<Integer, String> schemas) {
    this.only = single == null ? null : Reader.of(single);
    schemas.forEach((number, text) -> byNumber.put(number, Reader.of(text)));
  }

  @Override
  public Document read(byte[] bytes) throws BadMessage {
    Reader reader = only == null ? numbered(bytes) : only;
    int from = only == null ? HEADER : 0;
    try {
      decoder = DecoderFactory.get().binaryDecoder(bytes, from, bytes.length - from, decoder);
      Object found = reader.reader.read(null, new BoundedDecoder(decoder, bytes.length));
      if (!decoder.isEnd()) {
        throw new BadMessage("it is longer than its schema of Avro says");
      }
      return new Document(reader.values.json(found), reader.values.type());
    } catch (IOException
        | RuntimeException e) { // of bytes that are something else, Avro makes all kinds of them
      throw new BadMessage(
          "its bytes are no Avro of its schema (%s)".formatted(e.getClass().getSimpleName()));
    }
  }

  private Reader numbered(byte[] bytes) throws BadMessage {
    if (bytes.length < HEADER || bytes[0] != 0) {
      throw new BadMessage("it does not begin with a byte 0 and the number of a schema of Avro");
    }
    int number = ByteBuffer.wrap(bytes, 1, HEADER - 1).getInt();
    Reader found = byNumber.get(number);
    if (found == null) {
      throw new BadMessage(
          "the schema %d of Avro is not among those that are given, %s"
              .formatted(number, new TreeSet<>(byNumber.keySet())));
    }
    return found;
  }
}
