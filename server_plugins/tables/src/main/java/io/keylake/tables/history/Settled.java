package io.keylake.tables.history;

import io.keylake.tables.spec.SpecJson;
import java.io.Serializable;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.iceberg.DeleteFile;
import org.apache.iceberg.FileContent;
import org.apache.iceberg.Snapshot;
import org.jspecify.annotations.Nullable;

/**
 * The age up to which a snapshot is settled. Settling finds the stored rows that newer ones
 * supersede and records them as Iceberg's own deletions; no data is written again. What is left of
 * the files up to an age then has each visible key once, and needs no merge.
 *
 * <ol>
 *   <li>A commit that settles says so in its summary, and those after it carry that on: they only
 *       add younger files, or put merged files in the place of settled ones. A commit of another
 *       engine carries nothing; then rows are merged as ever, which is right but slower.
 *   <li>The law of the merge ignores superseded rows. So a merge may read them or not; only what is
 *       not merged has to leave them out.
 * </ol>
 *
 * @param through data sequence number of the youngest file that is settled
 * @param except buckets, as {@link #name} gives them, in which some key still has several rows
 * @param of how many buckets there are where those are some
 */
public record Settled(long through, Set<String> except, int of) {
  public static final String THROUGH = "keylake.settled_through";
  public static final String EXCEPT = "keylake.unsettled_buckets";

  public static final String EXCEPT_OF = "keylake.unsettled_buckets_of";

  /** The mark by which the deletions of a settlement are told from those of other engines. */
  static final String FILE_MARK = "-settle-";

  public static final Settled NOTHING = new Settled(Long.MIN_VALUE, Set.of(), 0);

  /** A summary is no place for more; a snapshot with more exceptions is not called settled. */
  private static final int MOST_EXCEPTIONS = 100;

  public Settled {
    except = Set.copyOf(except);
  }

  /** The state that a snapshot says of itself; null stands for a table without one. */
  public static Settled of(@Nullable Snapshot snapshot) {
    if (snapshot == null) {
      return NOTHING;
    }
    String through = snapshot.summary().get(THROUGH);
    if (through == null) {
      return NOTHING;
    }
    Set<String> except = new LinkedHashSet<>();
    SpecJson.parse(snapshot.summary().getOrDefault(EXCEPT, "[]"))
        .forEach(bucket -> except.add(bucket.asText()));
    int of = Integer.parseInt(snapshot.summary().getOrDefault(EXCEPT_OF, "0"));
    return new Settled(Long.parseLong(through), except, of);
  }

  /**
   * The properties by which a snapshot says that it is settled so far; nothing where that is too
   * much to say.
   */
  public Map<String, String> properties() {
    Map<String, String> properties = new LinkedHashMap<>();
    if (through != NOTHING.through && except.size() <= MOST_EXCEPTIONS) {
      properties.put(THROUGH, String.valueOf(through));
      properties.put(EXCEPT, SpecJson.write(except.stream().sorted().toList()));
      if (!except.isEmpty()) {
        properties.put(EXCEPT_OF, String.valueOf(of));
      }
    }
    return properties;
  }

  /** The same for buckets, if there are so many: exceptions among others do not tell. */
  public Settled among(int buckets) {
    return except.isEmpty() || of == buckets ? this : NOTHING;
  }

  public Settling settling(List<Serializable> partition, long age) {
    if (age > through) {
      return Settling.NOT_YET;
    }
    return except.contains(name(partition)) ? Settling.IN_VAIN : Settling.DONE;
  }

  public static String name(List<Serializable> partition) {
    return partition.toString();
  }

  /** The common part of the names of files that a settlement writes. */
  public static String operation(String id) {
    return "settle-" + id;
  }

  /** A delete file says which rows are superseded, and nothing else. */
  public static boolean isOurs(DeleteFile file) {
    String name = file.location().substring(file.location().lastIndexOf('/') + 1);
    return file.content() == FileContent.POSITION_DELETES && name.contains(FILE_MARK);
  }
}
