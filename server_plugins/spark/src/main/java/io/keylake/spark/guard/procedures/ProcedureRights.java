package io.keylake.spark.guard.procedures;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.access.Need;
import io.keylake.spark.access.Right;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** The right that each procedure takes. One that is not here takes the right to run code. */
final class ProcedureRights {
  /** Procedures that concern no table, or show what lists show. */
  private static final Set<String> FREE =
      Set.of("cache", "keylake_version", "forget_sent", "tables", "maintenance_state");

  /** Procedures that show facts of a table and no values: to whoever has any right on it. */
  private static final Set<String> OF_FACTS =
      Set.of(
          "bucket_advice",
          "commit_at_watermark",
          "commit_range",
          "commits",
          "compaction_plan",
          "consumers",
          "describe",
          "experiments",
          "history_branch",
          "indexes",
          "log",
          "offsets",
          "publication",
          "quarantine",
          "retained",
          "triggers",
          "wait_for_commits",
          "watermarks",
          "ancestors_of");

  private static final Map<String, Right> RIGHTS =
      Stream.of(
              of(
                  Right.READ,
                  "adopt",
                  "check",
                  "cherry_pick_plan",
                  "create_changelog_view",
                  "drop_files_plan",
                  "explain_row",
                  "move_files_plan",
                  "publish_iceberg",
                  "publish_kv",
                  "repair_plan",
                  "restore_files_plan",
                  "undo_plan"),
              of(Right.WRITE, "adopt_commit", "move_consumer", "move_trigger", "write_tables"),
              of(Right.CREATE, "create_table", "create_table_like", "register", "register_table"),
              of(
                  Right.ALTER,
                  "add_index",
                  "alter_columns",
                  "change_buckets",
                  "create_experiment",
                  "drop_branch",
                  "drop_experiment",
                  "drop_index",
                  "ensure_branch",
                  "set_log"),
              of(
                  Right.PUBLISH,
                  "cherry_pick",
                  "cherrypick_snapshot",
                  "fast_forward",
                  "promote_experiment",
                  "publish",
                  "publish_changes",
                  "release"),
              of(
                  Right.UNDO,
                  "discard",
                  "drop_files",
                  "move_files",
                  "restore_files",
                  "restore_metadata",
                  "rollback",
                  "rollback_to_snapshot",
                  "rollback_to_timestamp",
                  "set_current_snapshot",
                  "undo"),
              of(
                  Right.MAINTAIN,
                  "apply_equality_deletes",
                  "archive",
                  "clean",
                  "compact",
                  "compaction_policy",
                  "compute_partition_stats",
                  "compute_table_stats",
                  "expire_snapshots",
                  "history_branches",
                  "lateness",
                  "maintenance_log",
                  "merged_state",
                  "pause_maintenance",
                  "rebucket",
                  "refresh_merged",
                  "remove_orphan_files",
                  "repair",
                  "resume_maintenance",
                  "retention_policy",
                  "rewrite_data_files",
                  "rewrite_manifests",
                  "rewrite_position_delete_files"))
          .flatMap(each -> each.entrySet().stream())
          .collect(Collectors.toUnmodifiableMap(Map.Entry::getKey, Map.Entry::getValue));

  /** Procedures that reach files, servers or catalogs that an argument names. */
  private static final Set<String> OF_FILES =
      Set.of(
          "adopt",
          "kafka_offsets",
          "publish_kv",
          "register",
          "register_table",
          "repair",
          "repair_plan",
          "add_files",
          "migrate",
          "snapshot",
          "rewrite_table_path");

  /** Procedures whose branch is where commits come from; they go to main. */
  private static final Set<String> TO_MAIN = Set.of("publish", "publish_changes", "release");

  private ProcedureRights() {}

  private static Map<String, Right> of(Right right, String... names) {
    return Stream.of(names).collect(Collectors.toMap(name -> name, name -> right));
  }

  /**
   * Refuses a call that no rule allows to the session of this thread.
   *
   * @param tables full names of the tables that the arguments name
   * @param branch that an argument names; null for any
   * @param into full names of the tables that it writes besides
   */
  static void check(
      String procedure, List<String> tables, @Nullable String branch, List<String> into) {
    String name = procedure.toLowerCase(Locale.ROOT);
    String subject = "CALL " + name;
    if (FREE.contains(name)) {
      return;
    }
    boolean isOfFiles = OF_FILES.contains(name);
    if (isOfFiles) {
      AccessControl.requireOfThread(Need.ofServer(Right.FILES, subject));
    }
    for (String table : tables) {
      Right right = RIGHTS.get(name);
      if (OF_FACTS.contains(name)) {
        AccessControl.requireSeen(table, subject);
      } else if (right != null) {
        String changed = TO_MAIN.contains(name) ? Need.MAIN : branch;
        AccessControl.requireOfThread(Need.ofBranch(right, table, changed, subject));
        if (name.equals("ensure_branch")) { // which shows what main is
          AccessControl.requireOfThread(Need.ofBranch(Right.READ, table, Need.MAIN, subject));
        }
      } else if (!isOfFiles) {
        AccessControl.requireOfThread(Need.ofServer(Right.RUN_CODE, subject));
      }
    }
    for (String table : into) {
      AccessControl.requireOfThread(Need.of(Right.CREATE, table, subject + " into it"));
      AccessControl.requireOfThread(Need.of(Right.WRITE, table, subject + " into it"));
    }
  }

  /** The right of the procedure is known. */
  static boolean knows(String procedure) {
    return FREE.contains(procedure)
        || OF_FACTS.contains(procedure)
        || OF_FILES.contains(procedure)
        || RIGHTS.containsKey(procedure);
  }
}
