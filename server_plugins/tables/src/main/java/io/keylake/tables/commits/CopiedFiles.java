package io.keylake.tables.commits;

import com.fasterxml.jackson.databind.JsonNode;
import io.keylake.tables.hashing.ShortHash;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * Files that came to a branch without the rest of the commit that has written them, as when a part
 * of a commit was picked or a file was moved. A property of the table for each branch lists them;
 * they are on a branch if its {@link Ledger} has the commit that they came with. Where their rows
 * are merged with others, they count as being there nevertheless.
 */
public final class CopiedFiles {
  static final String PREFIX = "keylake.copied_files.";
  private static final int BYTES = 9;

  private final List<Entry> entries;

  private CopiedFiles(List<Entry> entries) {
    this.entries = entries;
  }

  /**
   * @param cameWith the number of the commit that has brought them, or taken them out
   * @param files hashes of locations
   */
  private record Entry(
      long cameWith, NumberSet of, Set<String> files, @Nullable String replaces, boolean isGone) {
    static Entry of(JsonNode values) {
      Set<String> files = new HashSet<>();
      values.get(2).forEach(each -> files.add(each.textValue()));
      return new Entry(
          values.get(0).longValue(),
          NumberSet.parse(values.get(1).textValue()),
          files,
          values.get(3).textValue(),
          values.get(4).booleanValue());
    }

    List<Object> values() {
      List<Object> values = new ArrayList<>();
      values.add(cameWith);
      values.add(of.toString());
      values.add(files.stream().sorted().toList());
      values.add(replaces);
      values.add(isGone);
      return values;
    }
  }

  /** The copied files that are on a branch. */
  public static CopiedFiles on(Table table, Ledger ledger) {
    return new CopiedFiles(
        all(table.properties()).values().stream()
            .flatMap(List::stream)
            .filter(entry -> ledger.has(entry.cameWith()))
            .toList());
  }

  /** A file came by itself, and was not taken out since; null if it did neither. */
  private @Nullable Boolean isThere(String location) {
    String hash = ShortHash.of(location, BYTES);
    return entries.stream()
        .filter(entry -> entry.files().contains(hash))
        .max(Comparator.comparingLong(Entry::cameWith))
        .map(last -> !last.isGone())
        .orElse(null);
  }

  /**
   * A file that a commit has brought is there, or was and is merged with others.
   *
   * @param with the commit
   */
  public boolean has(Table table, Ledger ledger, String location, Snapshot with) {
    Boolean isThere = isThere(location);
    return isThere == null ? ledger.has(writersOf(table, location, with)) : isThere;
  }

  /** The commits that have written a file which a commit has brought by itself; none otherwise. */
  private static NumberSet writersOf(Table table, String location, Snapshot with) {
    String hash = ShortHash.of(location, BYTES);
    NumberSet writers = NumberSet.EMPTY;
    for (List<Entry> entries : all(table.properties()).values()) {
      for (Entry entry : entries) {
        boolean isIt = entry.cameWith() == with.sequenceNumber() && !entry.isGone();
        if (isIt && entry.files().contains(hash)) {
          writers = writers.and(entry.of());
        }
      }
    }
    return writers;
  }

  /** The parts of an overwrite that were made again, as Iceberg's expressions in JSON. */
  public List<String> replacedBy(NumberSet sameWrites) {
    return entries.stream()
        .filter(entry -> entry.replaces() != null && entry.of().hasOneOf(sameWrites))
        .map(Entry::replaces)
        .toList();
  }

  /** The properties that change when files come to a branch. */
  static Map<String, String> with(
      Map<String, String> properties,
      String branch,
      long cameWith,
      List<CommitSummary.Copied> copied) {
    if (copied.isEmpty()) {
      return Map.of();
    }
    List<Entry> entries = new ArrayList<>(all(properties).getOrDefault(PREFIX + branch, List.of()));
    for (CommitSummary.Copied each : copied) {
      Set<String> hashes =
          each.locations().stream()
              .map(location -> ShortHash.of(location, BYTES))
              .collect(Collectors.toSet());
      entries.add(new Entry(cameWith, each.of(), hashes, each.replaces(), each.isGone()));
    }
    return Map.of(PREFIX + branch, SpecJson.write(entries.stream().map(Entry::values).toList()));
  }

  private static Map<String, List<Entry>> all(Map<String, String> properties) {
    Map<String, List<Entry>> all = new TreeMap<>();
    properties.forEach(
        (name, json) -> {
          if (name.startsWith(PREFIX)) {
            List<Entry> entries = new ArrayList<>();
            SpecJson.parse(json).forEach(each -> entries.add(Entry.of(each)));
            all.put(name, entries);
          }
        });
    return all;
  }
}
