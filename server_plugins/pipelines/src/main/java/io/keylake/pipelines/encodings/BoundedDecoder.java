package io.keylake.pipelines.encodings;

import java.io.EOFException;
import java.io.IOException;
import java.nio.ByteBuffer;
import org.apache.avro.io.BinaryDecoder;
import org.apache.avro.io.Decoder;
import org.apache.avro.util.Utf8;

/**
 * Avro's decoder of bytes that may be anybody's. Texts, arrays and maps say how long they are
 * before they begin, and Avro makes room for as much as they say. Here none is longer than the
 * message: a few bytes that say two gigabytes would end the server.
 */
final class BoundedDecoder extends Decoder {
  private final BinaryDecoder decoder;
  private final int most;
  private long items;

  /**
   * @param most the bytes of the message, and the items that its arrays and maps may have in all
   */
  BoundedDecoder(BinaryDecoder decoder, int most) {
    this.decoder = decoder;
    this.most = most;
  }

  private byte[] content() throws IOException {
    long length = decoder.readLong();
    if (length < 0 || length > most) {
      throw new EOFException();
    }
    byte[] content = new byte[(int) length];
    decoder.readFixed(content, 0, content.length);
    return content;
  }

  private long counted(long more) throws IOException {
    items += more;
    if (more < 0 || items > most) { // an item without bytes, such as null, would have no end
      throw new EOFException();
    }
    return more;
  }

  @Override
  public Utf8 readString(Utf8 old) throws IOException {
    return new Utf8(content());
  }

  @Override
  public String readString() throws IOException {
    return new Utf8(content()).toString();
  }

  @Override
  public ByteBuffer readBytes(ByteBuffer old) throws IOException {
    return ByteBuffer.wrap(content());
  }

  @Override
  public long readArrayStart() throws IOException {
    return counted(decoder.readArrayStart());
  }

  @Override
  public long arrayNext() throws IOException {
    return counted(decoder.arrayNext());
  }

  @Override
  public long readMapStart() throws IOException {
    return counted(decoder.readMapStart());
  }

  @Override
  public long mapNext() throws IOException {
    return counted(decoder.mapNext());
  }

  @Override
  public void readNull() throws IOException {
    decoder.readNull();
  }

  @Override
  public boolean readBoolean() throws IOException {
    return decoder.readBoolean();
  }

  @Override
  public int readInt() throws IOException {
    return decoder.readInt();
  }

  @Override
  public long readLong() throws IOException {
    return decoder.readLong();
  }

  @Override
  public float readFloat() throws IOException {
    return decoder.readFloat();
  }

  @Override
  public double readDouble() throws IOException {
    return decoder.readDouble();
  }

  @Override
  public void readFixed(byte[] bytes, int start, int length) throws IOException {
    decoder.readFixed(bytes, start, length);
  }

  @Override
  public int readEnum() throws IOException {
    return decoder.readEnum();
  }

  @Override
  public int readIndex() throws IOException {
    return decoder.readIndex();
  }

  @Override
  public void skipString() throws IOException {
    decoder.skipString();
  }

  @Override
  public void skipBytes() throws IOException {
    decoder.skipBytes();
  }

  @Override
  public void skipFixed(int length) throws IOException {
    decoder.skipFixed(length);
  }

  @Override
  public long skipArray() throws IOException {
    return counted(decoder.skipArray());
  }

  @Override
  public long skipMap() throws IOException {
    return counted(decoder.skipMap());
  }
}
