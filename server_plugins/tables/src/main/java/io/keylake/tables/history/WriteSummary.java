package io.keylake.tables.history;

import io.keylake.tables.GuestApi;
import io.keylake.tables.spec.SpecJson;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.jspecify.annotations.Nullable;

/**
 * The facts that a commit says of itself in its snapshot's summary, so that history needs no file.
 *
 * @param verb upsert, update, delete, apply_changes or overwrite
 * @param rows rows stored, after the rows of a key were reduced
 * @param minVersion null when no row was written
 * @param columns value columns written
 * @param heldRows that the write has held back beside it
 * @param lateRows of its rows that were late
 */
@GuestApi
public record WriteSummary(
    String verb,
    long rows,
    @Nullable Long minVersion,
    @Nullable Long maxVersion,
    List<String> columns,
    WriteLabels labels,
    long heldRows,
    long lateRows) {
  public static final String VERB = "keylake.verb";
  public static final String ROWS = "keylake.rows";
  public static final String MIN_VERSION = "keylake.min_version";
  public static final String MAX_VERSION = "keylake.max_version";
  static final String COLUMNS = "keylake.columns";
  static final String STREAM = "keylake.stream";
  public static final String WRITER = "keylake.writer";
  static final String WRITE_ID = "keylake.write_id";
  public static final String IDEMPOTENCY_KEY = "keylake.idempotency_key";

  static final String COMPACT = "compact";
  static final String SETTLE = "settle";
  static final String PUBLISH = "publish";
  static final String UNDO = "undo";
  static final String ADOPT = "adopt";

  /** The first commit of an experiment; those before it are of main. */
  public static final String CREATE_EXPERIMENT = "create_experiment";

  public static final String PROMOTE_EXPERIMENT = "promote_experiment";
  public static final String DROP_FILES = "drop_files";
  public static final String MOVE_FILES = "move_files";
  public static final String RESTORE_FILES = "restore_files";

  /** The snapshots whose writes an undo has taken back. */
  static final String UNDONE = "keylake.undone";

  /** The foreign commits whose rows a commit has written again with versions. */
  static final String ADOPTED = "keylake.adopted";

  /** The commit at which a branch stood when it was published, and what the checks said. */
  public static final String PUBLISHED_OF = "keylake.published_of";

  static final String GATE = "keylake.gate";

  /** The partitions in the place of which an overwrite was put, as Iceberg's expression in JSON. */
  public static final String REPLACES = "keylake.replaces";

  /** The commit of another branch that was made again, and the condition if only a part of it. */
  public static final String COPIED_FROM = "keylake.copied_from";

  public static final String COPIED_WHERE = "keylake.copied_where";

  /** The same for the commits to several branches that one write has made. */
  public static final String LATE = "keylake.late_write";

  /** The snapshot of main that a snapshot of the merged branch is made of. */
  public static final String MERGED_OF = "keylake.merged_of";

  /** The commits that a branch has taken in with the parent of this one, by their numbers. */
  public static final String TAKEN_IN = "keylake.taken_in";

  /** All commits that have made the writes of this one before, or beside it on other branches. */
  public static final String SAME_AS = "keylake.same_as";

  /** The highest version of this commit and all before it. */
  public static final String HIGHEST_VERSION = "keylake.highest_version";

  /** The first commit of the branch of rows that were held back; those before it are of main. */
  public static final String CREATE_QUARANTINE = "create_quarantine";

  /** The rows of the quarantine that have come to main. */
  public static final String RELEASE = "release";

  /** Rows of the quarantine that were taken away. */
  public static final String DISCARD = "discard";

  /**
   * The conditions by which the rows of a quarantine were held back, as a JSON list; carried on. No
   * other branch says it.
   */
  public static final String CONDITIONS = "keylake.conditions";

  /** The number of rows that a write has held back. */
  static final String HELD_ROWS = "keylake.held_rows";

  /** The number of rows of a write that were late. */
  static final String LATE_ROWS = "keylake.late_rows";

  static final String ROWS_MERGED = "keylake.rows_merged";
  static final String ROWS_SUPERSEDED = "keylake.rows_superseded";
  static final String REASON = "keylake.reason";

  /**
   * The property of a snapshot in which an engine that knows nothing of keylake reads every key
   * once.
   */
  public static final String PLAIN_READS = "keylake.plain_reads";

  /**
   * The property of a commit to a plain table that has put positions in the place of equality
   * deletes: it has changed files, and no row.
   */
  public static final String APPLIES_DELETES = "keylake.applies-equality-deletes";

  public WriteSummary {
    columns = List.copyOf(columns);
  }

  /** The summary of a write that holds nothing back, and has no late rows. */
  public WriteSummary(
      String verb,
      long rows,
      @Nullable Long minVersion,
      @Nullable Long maxVersion,
      List<String> columns,
      WriteLabels labels) {
    this(verb, rows, minVersion, maxVersion, columns, labels, 0, 0);
  }

  /** No commit before one of this kind belongs to its branch. */
  public static boolean beginsBranch(@Nullable String verb) {
    return CREATE_EXPERIMENT.equals(verb) || CREATE_QUARANTINE.equals(verb);
  }

  /** The same of a write that holds some rows back. */
  public WriteSummary holding(long held) {
    return new WriteSummary(verb, rows, minVersion, maxVersion, columns, labels, held, lateRows);
  }

  /** The same of a write some of whose rows are late. */
  public WriteSummary late(long late) {
    return new WriteSummary(verb, rows, minVersion, maxVersion, columns, labels, heldRows, late);
  }

  /** The same with another version of all rows. */
  public WriteSummary withVersion(long version) {
    return new WriteSummary(verb, rows, version, version, columns, labels, heldRows, lateRows);
  }

  /** No row of the write can be only a tombstone. */
  public boolean hasOnlyVisibleRows() {
    return !verb.equals("delete") && !verb.equals("apply_changes");
  }

  public Map<String, String> properties(boolean plainReads) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, verb);
    properties.put(ROWS, String.valueOf(rows));
    put(properties, MIN_VERSION, minVersion);
    put(properties, MAX_VERSION, maxVersion);
    put(properties, HELD_ROWS, heldRows == 0 ? null : heldRows);
    put(properties, LATE_ROWS, lateRows == 0 ? null : lateRows);
    properties.put(COLUMNS, SpecJson.write(new TreeSet<>(columns)));
    put(properties, STREAM, labels.stream());
    put(properties, WRITER, labels.writer());
    put(properties, WRITE_ID, labels.writeId());
    put(properties, IDEMPOTENCY_KEY, labels.idempotencyKey());
    properties.put(PLAIN_READS, plainReads ? "safe" : "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /**
   * The summary of a compaction. It writes no version and no column of its own.
   *
   * @param highestVersion of the commits before it, which may expire; null where there is none
   */
  public static Map<String, String> compaction(
      long rowsMerged, String reason, long rows, @Nullable Long highestVersion) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, COMPACT);
    properties.put(ROWS, String.valueOf(rows));
    properties.put(ROWS_MERGED, String.valueOf(rowsMerged));
    properties.put(REASON, reason);
    put(properties, MAX_VERSION, highestVersion);
    properties.put(PLAIN_READS, "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /** The summary of a settlement. It writes no row, version or column of its own. */
  public static Map<String, String> settled(
      long rowsSuperseded, Settled state, @Nullable Long highestVersion, boolean plainReads) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, SETTLE);
    properties.put(ROWS, "0");
    properties.put(ROWS_SUPERSEDED, String.valueOf(rowsSuperseded));
    put(properties, MAX_VERSION, highestVersion);
    properties.putAll(state.properties());
    properties.put(PLAIN_READS, plainReads ? "safe" : "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /** A commit was made by keylake. */
  public static boolean isOwn(Snapshot commit) {
    return commit.summary().containsKey(VERB);
  }

  /**
   * No commit was before this one. Some engines take the parent away from a commit when it expires;
   * what a branch had taken in before tells that of commits of keylake.
   */
  public static boolean isFirst(Snapshot commit) {
    if (commit.parentId() != null) {
      return false;
    }
    String takenIn = commit.summary().get(TAKEN_IN);
    return takenIn == null ? isOwn(commit) || commit.sequenceNumber() <= 1 : takenIn.isEmpty();
  }

  static boolean replacesAll(Snapshot commit) {
    return isOwn(commit)
        && "true".equals(commit.summary().get(REPLACES))
        && !commit.summary().containsKey(COPIED_WHERE); // older copies of a part say the whole
  }

  /** The columns that a table had at a commit, by which its conditions are read. */
  public static Schema schema(Table table, Snapshot commit) {
    Integer schemaId = commit.schemaId();
    return schemaId == null
        ? table.schema()
        : Objects.requireNonNull(table.schemas().get(schemaId), "kept with its snapshots");
  }

  /** A commit has written the rows of a foreign one again, in the place of its files. */
  public static boolean isAdoption(Snapshot commit) {
    return ADOPT.equals(commit.summary().get(VERB));
  }

  /** The foreign commits that a commit has adopted. */
  static List<Long> adopted(Snapshot commit) {
    return ids(commit, ADOPTED);
  }

  /** A commit has changed no answer. */
  public static boolean isTidying(Snapshot commit) {
    String verb = commit.summary().get(VERB);
    return COMPACT.equals(verb) || SETTLE.equals(verb) || PUBLISH.equals(verb);
  }

  public static boolean isUndo(Snapshot commit) {
    return UNDO.equals(commit.summary().get(VERB));
  }

  /** A commit has taken files out, or added ones that were there already. */
  public static boolean isFileChange(Snapshot commit) {
    String verb = commit.summary().get(VERB);
    return DROP_FILES.equals(verb) || MOVE_FILES.equals(verb) || RESTORE_FILES.equals(verb);
  }

  /** The writes that a commit has taken back. */
  public static List<Long> undone(Snapshot commit) {
    return ids(commit, UNDONE);
  }

  private static List<Long> ids(Snapshot commit, String property) {
    List<Long> ids = new ArrayList<>();
    SpecJson.parse(commit.summary().getOrDefault(property, "[]"))
        .forEach(each -> ids.add(each.asLong()));
    return ids;
  }

  /**
   * The summary of the adoption of a foreign commit.
   *
   * @param isLast whether no other foreign commit is left
   */
  public Map<String, String> adoption(long adopted, boolean isLast) {
    WriteSummary summary = new WriteSummary(ADOPT, rows, minVersion, maxVersion, columns, labels);
    Map<String, String> properties = summary.properties(false);
    properties.put(ADOPTED, SpecJson.write(List.of(adopted)));
    if (!isLast) {
      properties.remove(Lineage.FOREIGN_COMMITS);
    }
    return properties;
  }

  /** The summary of an undo. */
  public static Map<String, String> undo(List<Long> undone, @Nullable Long highestVersion) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, UNDO);
    properties.put(ROWS, "0");
    properties.put(UNDONE, SpecJson.write(undone));
    put(properties, MAX_VERSION, highestVersion);
    properties.put(PLAIN_READS, "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /** The summary of a commit that takes files out. */
  public static Map<String, String> takenOut(String verb, @Nullable Long highestVersion) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, verb);
    properties.put(ROWS, "0");
    put(properties, MAX_VERSION, highestVersion);
    properties.put(PLAIN_READS, "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /** The summary of a publication; the commits before it have the rows. */
  public static Map<String, String> published(
      long head, @Nullable String report, @Nullable Long highestVersion) {
    Map<String, String> properties = new LinkedHashMap<>();
    properties.put(VERB, PUBLISH);
    properties.put(ROWS, "0");
    properties.put(PUBLISHED_OF, String.valueOf(head));
    put(properties, GATE, report);
    put(properties, MAX_VERSION, highestVersion);
    properties.put(PLAIN_READS, "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /**
   * The summary of a commit of another branch when it is made again.
   *
   * @param where the part of it; null for all
   */
  public static Map<String, String> copied(Snapshot commit, @Nullable String where) {
    Map<String, String> properties = new LinkedHashMap<>(commit.summary());
    properties.keySet().removeIf(name -> !name.startsWith("keylake."));
    properties.remove(Settled.THROUGH);
    properties.remove(Settled.EXCEPT);
    properties.remove(Settled.EXCEPT_OF);
    properties.remove(COPIED_WHERE);
    properties.remove(TAKEN_IN);
    properties.remove(SAME_AS);
    properties.remove(HIGHEST_VERSION);
    if (where != null) {
      properties.remove(IDEMPOTENCY_KEY); // the whole delivery may still come
    }
    properties.put(COPIED_FROM, String.valueOf(commit.snapshotId()));
    put(properties, COPIED_WHERE, where);
    properties.put(PLAIN_READS, "unmerged");
    properties.put(Lineage.FOREIGN_COMMITS, Lineage.NONE);
    return properties;
  }

  /** The properties by which the last commit to the merged branch says what it is made of. */
  public static Map<String, String> merged(long source) {
    return Map.of(
        VERB,
        COMPACT,
        MERGED_OF,
        String.valueOf(source),
        PLAIN_READS,
        "safe",
        Lineage.FOREIGN_COMMITS,
        Lineage.NONE);
  }

  private static void put(Map<String, String> properties, String name, @Nullable Object value) {
    if (value != null) {
      properties.put(name, value.toString());
    }
  }
}
