package io.keylake.merge;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** One case of {@code tests/cases/merge}; the grammar stands in the README beside them. */
public final class MergeCase {
  private static final Set<String> HEADERS =
      Set.of("columns", "versions", "ordering", "reducers", "groups");

  /**
   * What a read must give.
   *
   * @param runs how many of the case's runs it covers
   * @param rows the expected lines, of rows and of stamps
   */
  public record Read(int runs, List<String> rows, List<String> stamps) {}

  private final String title;
  private final Map<String, String> header = new HashMap<>();
  private final List<List<WrittenRow>> runs = new ArrayList<>();
  private final List<Read> reads = new ArrayList<>();

  private MergeCase(String title) {
    this.title = title;
  }

  public static List<MergeCase> readAll() {
    try (Stream<Path> files = Files.list(Path.of(System.getProperty("keylake.cases"), "merge"))) {
      return files.sorted().flatMap(file -> read(file).stream()).toList();
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static List<MergeCase> read(Path file) {
    List<MergeCase> cases = new ArrayList<>();
    try {
      for (String raw : Files.readAllLines(file)) {
        String line = raw.strip();
        if (line.startsWith("case: ")) {
          cases.add(new MergeCase(file.getFileName() + ": " + line.substring("case: ".length())));
        } else if (!line.isEmpty() && !line.startsWith("#")) {
          cases.get(cases.size() - 1).add(line);
        }
      }
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
    return cases;
  }

  private void add(String line) {
    String word = line.contains(": ") ? line.substring(0, line.indexOf(": ")) : line;
    String rest = line.substring(Math.min(word.length() + 2, line.length()));
    Read last = reads.isEmpty() ? null : reads.get(reads.size() - 1);
    if (HEADERS.contains(word) && runs.isEmpty()) {
      header.put(word, rest);
    } else if (word.equals("run")) {
      runs.add(Arrays.stream(rest.split(";")).map(String::strip).map(this::writtenRow).toList());
    } else if (line.equals("read")) {
      reads.add(new Read(runs.size(), new ArrayList<>(), new ArrayList<>()));
    } else if (line.startsWith("k=")) {
      last.rows().add(line);
    } else if (line.startsWith("! k=")) {
      last.stamps().add(line);
    } else if (!line.equals("----")) {
      throw new IllegalArgumentException(title + ": cannot read the line '" + line + "'");
    }
  }

  private WrittenRow writtenRow(String text) {
    List<String> words = List.of(text.split("\\s+"));
    Map<String, String> written = new LinkedHashMap<>();
    words.stream()
        .skip(1)
        .filter(word -> word.contains("="))
        .forEach(word -> written.put(before(word, "="), after(word, "=")));
    long version = version(words.get(words.size() - 1), written);
    Map<String, Cell> cells = new HashMap<>();
    leaves()
        .forEach(
            (leaf, columns) -> {
              List<String> values = columns.stream().map(written::get).toList();
              if (values.get(0) != null) {
                String own = after(values.get(0), "@");
                cells.put(
                    leaf,
                    new Cell(
                        own.isEmpty() ? version : Long.parseLong(own),
                        values.stream().map(MergeCase::value).toList()));
              }
            });
    Key key = new Key(Long.parseLong(after(words.get(0), "=")), 0);
    return new WrittenRow(key, version, words.contains("delete"), cells);
  }

  private long version(String lastWord, Map<String, String> written) {
    if (lastWord.startsWith("@")) {
      return Long.parseLong(lastWord.substring(1));
    }
    return header.getOrDefault("versions", "explicit").equals("commit")
        ? runs.size() + 1
        : Long.parseLong(written.get(header.get("ordering")));
  }

  private static Long value(String word) {
    String text = before(word, "@");
    return text.equals("null") ? null : Long.valueOf(text);
  }

  private static String before(String word, String sign) {
    return word.contains(sign) ? word.substring(0, word.indexOf(sign)) : word;
  }

  private static String after(String word, String sign) {
    return word.contains(sign) ? word.substring(word.indexOf(sign) + 1) : "";
  }

  private List<String> columns() {
    return List.of(header.getOrDefault("columns", "a b").split(" "));
  }

  /** The columns of each version leaf; a group stands in the place of its first column. */
  public Map<String, List<String>> leaves() {
    Map<String, String> groups = new HashMap<>();
    for (String group : header.getOrDefault("groups", "").split(" ")) {
      for (String column : after(group, "=").split(",")) {
        if (!reductions().getOrDefault(column, Reduction.LATEST).accumulates()) {
          groups.put(column, before(group, "="));
        }
      }
    }
    return columns().stream()
        .collect(
            Collectors.groupingBy(
                column -> groups.getOrDefault(column, column),
                LinkedHashMap::new,
                Collectors.toList()));
  }

  /** How the columns are reduced that are not reduced to their latest value. */
  public Map<String, Reduction> reductions() {
    return Arrays.stream(header.getOrDefault("reducers", "").split(" "))
        .filter(word -> !word.isEmpty())
        .collect(
            Collectors.toMap(word -> before(word, "="), word -> Reduction.of(after(word, "="))));
  }

  public List<List<WrittenRow>> runs(Read read) {
    return List.copyOf(runs.subList(0, read.runs()));
  }

  public List<Read> reads() {
    return reads;
  }

  /** A visible row, as an expected line says it. */
  String rowLine(StoredRow row) {
    Map<String, Long> values = new HashMap<>();
    reductions().forEach((column, how) -> values.put(column, how == Reduction.COUNT ? 0L : null));
    leaves()
        .forEach(
            (leaf, columns) -> {
              for (int i = 0; i < columns.size() && row.cells().containsKey(leaf); i++) {
                values.put(columns.get(i), row.cells().get(leaf).values().get(i));
              }
            });
    return "k=%d%s"
        .formatted(
            row.key().first(),
            columns().stream()
                .map(c -> " " + c + "=" + values.get(c))
                .collect(Collectors.joining()));
  }

  /** The stamps of a key, as an expected line says them. */
  String stampsLine(StoredRow row) {
    Map<String, Long> stamps = new LinkedHashMap<>();
    stamps.put("version", row.version());
    stamps.put("written", row.written());
    stamps.put("deleted", row.deleted());
    leaves().keySet().forEach(leaf -> stamps.put(leaf, row.versionOf(leaf)));
    return stamps.entrySet().stream()
        .filter(stamp -> stamp.getValue() != null)
        .map(stamp -> " " + stamp.getKey() + "=" + stamp.getValue())
        .collect(Collectors.joining("", "! k=" + row.key().first(), ""));
  }

  @Override
  public String toString() {
    return title;
  }
}
