package io.keylake.pipelines.encodings;

/** An encoding, by which bytes of a message become a document. */
@FunctionalInterface
public interface Encoding {
  Document read(byte[] bytes) throws BadMessage;
}
