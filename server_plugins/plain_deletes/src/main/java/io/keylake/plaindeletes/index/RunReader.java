package io.keylake.plaindeletes.index;

import java.io.BufferedInputStream;
import java.io.Closeable;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;

/** Reads what {@link RunWriter} has written; it stands on one key at a time. */
final class RunReader implements Closeable, Comparable<RunReader> {
  private final DataInputStream in;
  private long head;
  private int ordinal;
  private byte[] tail = {};
  private int length;

  RunReader(Path file) throws IOException {
    in =
        new DataInputStream(
            new BufferedInputStream(Files.newInputStream(file), RunWriter.BUFFER_BYTES));
  }

  /** Goes to the next key; false at the end. */
  boolean advance() throws IOException {
    try {
      head = in.readLong();
    } catch (EOFException e) {
      return false;
    }
    ordinal = in.readInt();
    length = in.readInt();
    if (tail.length < length) {
      tail = new byte[length];
    }
    in.readFully(tail, 0, length);
    return true;
  }

  long head() {
    return head;
  }

  int ordinal() {
    return ordinal;
  }

  byte[] tail() {
    return tail;
  }

  int length() {
    return length;
  }

  @Override
  public int compareTo(RunReader other) {
    int byHead = Long.compareUnsigned(head, other.head);
    return byHead != 0
        ? byHead
        : Arrays.compareUnsigned(tail, 0, length, other.tail, 0, other.length);
  }

  @Override
  public boolean equals(Object other) {
    return this == other;
  }

  @Override
  public int hashCode() {
    return System.identityHashCode(this);
  }

  @Override
  public void close() throws IOException {
    in.close();
  }
}
