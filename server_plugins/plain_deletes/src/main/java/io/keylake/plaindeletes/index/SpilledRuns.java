package io.keylake.plaindeletes.index;

import java.io.Closeable;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.PriorityQueue;

/** The sorted runs of keys that did not fit into memory, in a directory of their own. */
final class SpilledRuns {
  private static final int MOST_OPEN = 64;

  private final Path directory;
  private final List<Path> runs = new ArrayList<>();
  private int files;

  SpilledRuns(Path directory) {
    this.directory = directory;
  }

  boolean isEmpty() {
    return runs.isEmpty();
  }

  private Path newFile() {
    return directory.resolve("run-" + files++);
  }

  /** Writes the keys of a table, which has none then. */
  void add(KeyTable table) throws IOException {
    Path run = newFile();
    try (RunWriter out = new RunWriter(run)) {
      table.drain(out);
    }
    runs.add(run);
  }

  /** Writes a key that alone is too large for memory. */
  void add(DeleteKey key, int ordinal) throws IOException {
    Path run = newFile();
    try (RunWriter out = new RunWriter(run)) {
      out.add(key.head(), ordinal, key.tail(), 0, key.tailLength());
    }
    runs.add(run);
  }

  /** All keys in one file, in which they can be looked up. */
  SortedKeys merged(boolean haveTails) throws IOException {
    while (runs.size() > MOST_OPEN) {
      List<Path> some = List.copyOf(runs.subList(0, MOST_OPEN));
      Path run = newFile();
      try (RunWriter out = new RunWriter(run)) {
        merge(some, out::add);
      }
      runs.subList(0, MOST_OPEN).clear();
      runs.add(run);
      delete(some);
    }
    try (SortedKeys.Writer out = new SortedKeys.Writer(directory, haveTails)) {
      merge(runs, out::add);
      delete(runs);
      return out.finished();
    }
  }

  private interface Sink {
    void add(long head, int ordinal, byte[] tail, int offset, int length) throws IOException;
  }

  private static void merge(List<Path> files, Sink into) throws IOException {
    List<RunReader> opened = new ArrayList<>();
    try {
      PriorityQueue<RunReader> queue = new PriorityQueue<>();
      for (Path file : files) {
        RunReader run = new RunReader(file);
        opened.add(run);
        if (run.advance()) {
          queue.add(run);
        }
      }
      List<RunReader> same = new ArrayList<>();
      while (!queue.isEmpty()) {
        int ordinal = takeFirst(queue, same);
        RunReader first = same.get(0);
        into.add(first.head(), ordinal, first.tail(), 0, first.length());
        for (RunReader run : same) {
          if (run.advance()) {
            queue.add(run);
          }
        }
      }
    } finally {
      for (Closeable run : opened) {
        run.close();
      }
    }
  }

  /** Takes the runs that stand on the first key; returns the highest of its ordinals. */
  private static int takeFirst(PriorityQueue<RunReader> queue, List<RunReader> same) {
    same.clear();
    int ordinal = 0;
    do {
      RunReader run = queue.remove();
      same.add(run);
      ordinal = Math.max(ordinal, run.ordinal());
    } while (!queue.isEmpty() && queue.peek().compareTo(same.get(0)) == 0);
    return ordinal;
  }

  private static void delete(List<Path> files) throws IOException {
    for (Path file : files) {
      Files.delete(file);
    }
  }
}
