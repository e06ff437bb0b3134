package io.keylake.plaindeletes.index;

import java.io.BufferedOutputStream;
import java.io.Closeable;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * Keys in their order in files of the local disk, looked up by binary search. The files are mapped:
 * what of them is in memory is the operating system's affair, and no part of the heap.
 *
 * <p>An entry has a head and an ordinal, and where there are tails the place of its tail, which
 * ends where that of the next entry begins.
 */
final class SortedKeys {
  private static final int MAPPED_BITS = 30;

  private final Mapped entries;
  private final Mapped tails;
  private final int entryBytes;
  private final long size;
  private final long bytes;

  private SortedKeys(Mapped entries, Mapped tails, int entryBytes, long size, long bytes) {
    this.entries = entries;
    this.tails = tails;
    this.entryBytes = entryBytes;
    this.size = size;
    this.bytes = bytes;
  }

  long size() {
    return size;
  }

  /** The size of the files. */
  long bytes() {
    return bytes;
  }

  /** The ordinal of a key, or 0. */
  int ordinal(DeleteKey key) {
    long head = key.head();
    for (long i = first(head); i < size && headAt(i) == head; i++) {
      if (entryBytes == Writer.BYTES_WITHOUT_TAIL || hasTail(i, key)) {
        return entries.getInt(i * entryBytes + Long.BYTES);
      }
    }
    return 0;
  }

  private long headAt(long entry) {
    return entries.getLong(entry * entryBytes);
  }

  private long first(long head) {
    long low = 0;
    long high = size;
    while (low < high) {
      long middle = (low + high) >>> 1;
      if (Long.compareUnsigned(headAt(middle), head) < 0) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    return low;
  }

  private boolean hasTail(long entry, DeleteKey key) {
    long from = tailAt(entry);
    if (tailAt(entry + 1) - from != key.tailLength()) {
      return false;
    }
    byte[] tail = key.tail();
    for (int i = 0; i < key.tailLength(); i++) {
      if (tails.get(from + i) != tail[i]) {
        return false;
      }
    }
    return true;
  }

  private long tailAt(long entry) {
    return entries.getLong(entry * entryBytes + Writer.BYTES_WITHOUT_TAIL);
  }

  /** A file of any size in buffers of a size that Java knows; no number lies across two of them. */
  private record Mapped(List<ByteBuffer> buffers, long width) {

    static Mapped of(Path file, int width) throws IOException {
      long each = (1L << MAPPED_BITS) / width * width;
      List<ByteBuffer> buffers = new ArrayList<>();
      try (FileChannel channel = FileChannel.open(file, StandardOpenOption.READ)) {
        for (long from = 0; from < channel.size(); from += each) {
          long length = Math.min(each, channel.size() - from);
          buffers.add(channel.map(FileChannel.MapMode.READ_ONLY, from, length));
        }
      }
      return new Mapped(buffers, each);
    }

    long getLong(long place) {
      return buffers.get((int) (place / width)).getLong((int) (place % width));
    }

    int getInt(long place) {
      return buffers.get((int) (place / width)).getInt((int) (place % width));
    }

    byte get(long place) {
      return buffers.get((int) (place / width)).get((int) (place % width));
    }
  }

  /** Writes the files; keys come in their order. */
  static final class Writer implements Closeable {
    static final int BYTES_WITHOUT_TAIL = Long.BYTES + Integer.BYTES;

    private final Path entryFile;
    private final Path tailFile;
    private final DataOutputStream entries;
    private final DataOutputStream tails;
    private final boolean haveTails;
    private long size;
    private long tailBytes;

    Writer(Path directory, boolean haveTails) throws IOException {
      this.haveTails = haveTails;
      entryFile = directory.resolve("entries");
      tailFile = directory.resolve("tails");
      entries = open(entryFile);
      tails = open(tailFile);
    }

    private static DataOutputStream open(Path file) throws IOException {
      return new DataOutputStream(
          new BufferedOutputStream(Files.newOutputStream(file), RunWriter.BUFFER_BYTES));
    }

    void add(long head, int ordinal, byte[] tail, int offset, int length) throws IOException {
      entries.writeLong(head);
      entries.writeInt(ordinal);
      if (haveTails) {
        entries.writeLong(tailBytes);
        tails.write(tail, offset, length);
        tailBytes += length;
      }
      size++;
    }

    /** The keys that were written, to be looked up; nothing can be added then. */
    SortedKeys finished() throws IOException {
      int entryBytes = BYTES_WITHOUT_TAIL + (haveTails ? Long.BYTES : 0);
      if (haveTails) { // the end of the last tail
        entries.writeLong(-1);
        entries.writeInt(0);
        entries.writeLong(tailBytes);
      }
      close();
      return new SortedKeys(
          Mapped.of(entryFile, entryBytes),
          Mapped.of(tailFile, 1),
          entryBytes,
          size,
          Files.size(entryFile) + tailBytes);
    }

    @Override
    public void close() throws IOException {
      entries.close();
      tails.close();
    }
  }
}
