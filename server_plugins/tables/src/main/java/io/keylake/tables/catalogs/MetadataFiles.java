package io.keylake.tables.catalogs;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.cache.BoundedCache;
import io.keylake.tables.cache.CacheKind;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.Serial;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.function.Supplier;
import org.apache.iceberg.exceptions.NotFoundException;
import org.apache.iceberg.exceptions.RuntimeIOException;
import org.apache.iceberg.inmemory.InMemoryInputFile;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.InputFile;
import org.apache.iceberg.io.OutputFile;
import org.apache.iceberg.io.PositionOutputStream;
import org.jspecify.annotations.Nullable;

/**
 * The files of a catalog's metadata. Iceberg reads a file of metadata up to 20 times, for a minute
 * and a half, and only a file that is not there ends that. A store that refuses, or whose client
 * has asked it often enough, ends it here as well, and so does a file that is damaged: as a file
 * that is not there, which nobody sees but {@link #asked}.
 *
 * <p>A file of metadata never changes, so those that were read or written last are kept, within
 * bytes.
 */
final class MetadataFiles implements FileIO {
  @Serial private static final long serialVersionUID = 1L;

  private static final BoundedCache<Place, byte[]> KEPT =
      BoundedCache.ofHeap(
          CacheKind.METADATA, (place, content) -> 2L * place.location.length() + content.length);

  /** Stores may have other files of the same location. */
  private record Place(FileIO store, String location) {}

  private final FileIO store;

  /** The files that were read for the question of a thread; null: there is no question. */
  private final transient ThreadLocal<@Nullable Set<String>> read = new ThreadLocal<>();

  MetadataFiles(FileIO store) {
    this.store = store;
  }

  /** Carries the failure of the store through Iceberg's repeats. */
  private static final class Refusal extends NotFoundException {
    @Serial private static final long serialVersionUID = 1L;

    private final RuntimeException failure;

    Refusal(RuntimeException failure) {
      super(failure, "the store has said why");
      this.failure = failure;
    }
  }

  /** The store with which tables read and write their own files. */
  FileIO store() {
    return store;
  }

  /** The answer to a question that reads metadata, or the failure of the store as it was. */
  <T> T asked(Supplier<T> question) {
    read.set(new HashSet<>());
    try {
      return question.get();
    } catch (Refusal e) {
      throw e.failure;
    } finally {
      read.remove();
    }
  }

  @Override
  public InputFile newInputFile(String location) {
    Set<String> files = read.get();
    if (files == null) {
      return store.newInputFile(location);
    }
    try {
      // Iceberg parses it once more only where it failed the first time
      return new InMemoryInputFile(location, checked(location, !files.add(location)));
    } catch (KeylakeException e) {
      throw new Refusal(e);
    } catch (RuntimeException e) {
      throw StoreFailure.isAnswered(e) ? new Refusal(e) : e;
    }
  }

  private byte[] checked(String location, boolean isSuspect) {
    Place place = new Place(store, location);
    if (!isSuspect) {
      return KEPT.get(place, () -> read(location, false));
    }
    byte[] content = read(location, true);
    KEPT.keep(place, content); // somebody has put the file back
    return content;
  }

  private byte[] read(String location, boolean isSuspect) {
    byte[] content = content(location);
    DamagedMetadata.check(location, content, isSuspect);
    return content;
  }

  /** The whole file: a store may refuse it behind its first bytes. */
  private byte[] content(String location) {
    try (InputStream file = store.newInputFile(location).newStream()) {
      return file.readAllBytes();
    } catch (IOException e) {
      throw new RuntimeIOException(e, "Failed to read file: %s", location);
    }
  }

  @Override
  public OutputFile newOutputFile(String location) {
    return new KeptOutput(store.newOutputFile(location), new Place(store, location));
  }

  /** A file whose content is kept once it is there. */
  private record KeptOutput(OutputFile file, Place place) implements OutputFile {
    @Override
    public PositionOutputStream create() {
      return new KeptStream(file.create(), place);
    }

    @Override
    public PositionOutputStream createOrOverwrite() {
      return new KeptStream(file.createOrOverwrite(), place);
    }

    @Override
    public String location() {
      return file.location();
    }

    @Override
    public InputFile toInputFile() {
      return file.toInputFile();
    }
  }

  private static final class KeptStream extends PositionOutputStream {
    private final PositionOutputStream stream;
    private final Place place;
    private final ByteArrayOutputStream content = new ByteArrayOutputStream();
    private long asked; // bytes to write; those of a write that has failed are not in the content

    KeptStream(PositionOutputStream stream, Place place) {
      this.stream = stream;
      this.place = place;
    }

    @Override
    public long getPos() throws IOException {
      return stream.getPos();
    }

    @Override
    public long storedLength() throws IOException {
      return stream.storedLength();
    }

    @Override
    public void write(int one) throws IOException {
      asked++;
      stream.write(one);
      content.write(one);
    }

    @Override
    public void write(byte[] bytes, int from, int length) throws IOException {
      asked += length;
      stream.write(bytes, from, length);
      content.write(bytes, from, length);
    }

    @Override
    public void flush() throws IOException {
      stream.flush();
    }

    /** Nobody knows what a store has that has not taken all of it. */
    @Override
    public void close() throws IOException {
      stream.close();
      if (content.size() == asked) {
        KEPT.keep(place, content.toByteArray());
      }
    }
  }

  @Override
  public void deleteFile(String location) {
    store.deleteFile(location);
  }

  @Override
  public Map<String, String> properties() {
    return store.properties();
  }

  @Override
  public void close() {
    store.close();
  }

  @Serial
  private Object writeReplace() {
    return store;
  }
}
