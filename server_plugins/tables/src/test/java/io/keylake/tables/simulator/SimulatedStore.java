package io.keylake.tables.simulator;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.SocketTimeoutException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.io.FileInfo;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.apache.iceberg.io.SeekableInputStream;
import org.apache.iceberg.io.SupportsBulkOperations;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.jspecify.annotations.Nullable;

/** A store in memory, which fails as the events of a script say it. */
final class SimulatedStore {
  /** What the store has of a file. */
  record Stored(byte[] bytes, long millis, boolean isTorn) {}

  final NavigableMap<String, Stored> files = new TreeMap<>();
  private final Turns turns;
  private final Consumer<String> deleted;

  /**
   * @param deleted hears of each file that is deleted, before it is
   */
  SimulatedStore(Turns turns, Consumer<String> deleted) {
    this.turns = turns;
    this.deleted = deleted;
  }

  /**
   * The store as an actor reaches it.
   *
   * @param actor null for one who is never disturbed
   */
  Files reachedBy(@Nullable Actor actor) {
    return new Files(actor);
  }

  private static UncheckedIOException silence(String what) {
    return new UncheckedIOException(new SocketTimeoutException("simulated: " + what));
  }

  /** What Iceberg and the product see of the store. */
  final class Files implements SupportsPrefixOperations, SupportsBulkOperations {
    private static final long serialVersionUID = 1L;

    private final transient @Nullable Actor actor;

    private Files(@Nullable Actor actor) {
      this.actor = actor;
    }

    /** A server's own: writers of different servers do not commit together. */
    @Override
    public Map<String, String> properties() {
      return actor == null ? Map.of() : Map.of("server", String.valueOf(actor.server.number));
    }

    private Event.@Nullable What call(Call call) {
      return actor == null ? null : actor.call(call);
    }

    @Override
    public InputFile newInputFile(String path) {
      return new Input(path);
    }

    @Override
    public OutputFile newOutputFile(String path) {
      return new Output(path);
    }

    @Override
    public void deleteFile(String path) {
      Event.What fault = call(Call.DELETE);
      if (fault == Event.What.FAIL) {
        throw silence("deleting " + path);
      }
      boolean isThere = files.containsKey(path);
      if (isThere) {
        deleted.accept(path);
        files.remove(path);
      }
      if (fault == Event.What.LOST) {
        throw silence("deleting " + path);
      }
    }

    @Override
    public void deleteFiles(Iterable<String> paths) {
      paths.forEach(this::deleteFile);
    }

    @Override
    public List<FileInfo> listPrefix(String prefix) {
      if (call(Call.LIST) == Event.What.FAIL) {
        throw silence("listing " + prefix);
      }
      List<FileInfo> found = new ArrayList<>();
      files
          .subMap(prefix, prefix + Character.MAX_VALUE)
          .forEach(
              (path, file) -> found.add(new FileInfo(path, file.bytes().length, file.millis())));
      return found;
    }

    @Override
    public void deletePrefix(String prefix) {
      throw new UnsupportedOperationException(prefix);
    }

    private final class Input implements InputFile {
      private final String path;

      Input(String path) {
        this.path = path;
      }

      private Stored opened() {
        if (call(Call.READ) == Event.What.FAIL) {
          throw silence("reading " + path);
        }
        Stored file = files.get(path);
        if (file == null) {
          throw new NotFoundException("no file %s", path);
        }
        return file;
      }

      @Override
      public long getLength() {
        Stored file = files.get(path);
        return file == null ? opened().bytes().length : file.bytes().length;
      }

      @Override
      public SeekableInputStream newStream() {
        return new InMemoryInputFile(path, opened().bytes()).newStream();
      }

      @Override
      public String location() {
        return path;
      }

      @Override
      public boolean exists() {
        if (call(Call.READ) == Event.What.FAIL) {
          throw silence("looking for " + path);
        }
        return files.containsKey(path);
      }
    }

    private final class Output implements OutputFile {
      private final String path;

      Output(String path) {
        this.path = path;
      }

      @Override
      public PositionOutputStream create() {
        if (files.containsKey(path)) {
          throw new AlreadyExistsException("there is a file %s", path);
        }
        return createOrOverwrite();
      }

      @Override
      public PositionOutputStream createOrOverwrite() {
        return new Written(path);
      }

      @Override
      public String location() {
        return path;
      }

      @Override
      public InputFile toInputFile() {
        return new Input(path);
      }
    }

    /** A file that is there when it is closed, and then durable. */
    private final class Written extends PositionOutputStream {
      private final String path;
      private final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
      private boolean isClosed;

      Written(String path) {
        this.path = path;
      }

      @Override
      public long getPos() {
        return bytes.size();
      }

      @Override
      public void write(int one) {
        bytes.write(one);
      }

      @Override
      public void write(byte[] more, int offset, int length) {
        bytes.write(more, offset, length);
      }

      @Override
      public void close() throws IOException {
        if (isClosed) {
          return;
        }
        isClosed = true;
        Event.What fault = call(Call.WRITE);
        byte[] all = bytes.toByteArray();
        if (fault == Event.What.TORN) {
          keep(Arrays.copyOf(all, all.length / 2), true);
        } else if (fault != Event.What.FAIL) {
          keep(all, false);
        }
        if (fault == Event.What.TORN || fault == Event.What.FAIL || fault == Event.What.LOST) {
          throw new SocketTimeoutException("simulated: writing " + path);
        }
      }

      private void keep(byte[] all, boolean isTorn) {
        files.put(path, new Stored(all, turns.millis(), isTorn));
      }
    }
  }
}
