package io.keylake.tables.check;

import io.keylake.tables.check.Finding.Kind;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One step of a repair.
 *
 * @param path of the damaged file
 * @param calls the procedures to be called in this order, without the table; empty for none
 * @param why the step, in one sentence
 * @param lost the rows that no step brings back; null where none is lost
 */
public record RepairStep(
    String path, Kind finding, Way way, List<Call> calls, String why, @Nullable Lost lost) {
  public RepairStep {
    calls = List.copyOf(calls);
  }

  /** The ways in which a table becomes whole again. */
  public enum Way {
    /** A copy of the file is put in its place. */
    PUT_BACK,
    /** The same rows lie in files of an older snapshot, which are added again. */
    RESTORE_FILES,
    /** The branch goes back to its newest whole snapshot. */
    ROLLBACK,
    /** The file is taken out of the table, and its rows are sent again. */
    DROP_FILES,
    /**
     * The metadata file is written again: as a server has it in memory, or as the one before it.
     */
    RESTORE_METADATA,
    /** Only a backup of the file helps. */
    BACKUP,
    /** No branch and no tag needs the file. */
    NONE;

    public String word() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** A call of a procedure. */
  public record Call(String procedure, Map<String, Object> arguments) {
    public Call {
      arguments = Map.copyOf(arguments);
    }
  }

  /**
   * Rows of a file that are in no other file.
   *
   * @param bucket the partition, the bucket last
   * @param lowestKey the least value of each key column
   * @param highestKey the greatest value of each key column
   * @param snapshotId of the commit that wrote them; null where it has expired
   */
  public record Lost(
      String bucket,
      long rows,
      List<String> lowestKey,
      List<String> highestKey,
      @Nullable Long snapshotId,
      @Nullable String stream,
      @Nullable String idempotencyKey) {
    public Lost {
      lowestKey = List.copyOf(lowestKey);
      highestKey = List.copyOf(highestKey);
    }
  }
}
