package io.keylake.spark.publish;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;
import static io.keylake.tables.KeylakeException.Kind.NOT_FOUND;
import static io.keylake.tables.KeylakeException.Kind.TABLE_EXISTS;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.Positions;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.KeyedSchema;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import org.apache.iceberg.ManageSnapshots;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.iceberg.exceptions.CommitFailedException;
import org.apache.iceberg.spark.CommitMetadata;
import org.apache.iceberg.transforms.Transforms;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.iceberg.util.SnapshotUtil;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.catalyst.util.QuotingUtils;
import org.apache.spark.sql.functions;
import org.jspecify.annotations.Nullable;

/**
 * Keeps a plain Iceberg table in step with a keyed one.
 *
 * <p>What is new is written to a branch of the copy that nobody else knows, which begins at the
 * commit that was looked at. Main follows only if it still stands there: of two at once, one wins,
 * and a stopped one leaves a branch that expires.
 */
public final class PlainCopy {
  static final int FORMAT_VERSION = 2;
  private static final String OF = "keylake.copy.of";
  private static final int MOST_ATTEMPTS = 20;
  private static final String MAIN = "main";

  private final SparkSession spark;
  private final Place source;
  private final Place into;
  private final Catalog catalog;
  private final Table table;

  /**
   * A table.
   *
   * @param sql its name with its catalog, quoted
   */
  public record Place(TableIdentifier ident, String sql) {}

  /**
   * The result of one update of the copy.
   *
   * @param mode "full", "changes" or "nothing"
   * @param reason why all rows were written; null where they were not
   * @param reached the commit of the keyed table that the copy has now
   * @param snapshotId of the copy
   * @param rows written to the copy
   * @param deleted rows of the copy that are replaced or gone
   */
  public record Done(
      String mode,
      @Nullable String reason,
      long reached,
      long snapshotId,
      long rows,
      long deleted) {}

  public PlainCopy(SparkSession spark, Catalog catalog, Table table, Place source, Place into) {
    this.spark = spark;
    this.catalog = catalog;
    this.table = table;
    this.source = source;
    this.into = into;
  }

  /**
   * @param isFull whether all rows are to be written whatever the copy holds
   */
  public Done publish(boolean isFull) {
    Long head = new CommitLog(table, null).headId();
    if (head == null) {
      throw new KeylakeException(
          NOT_FOUND, "table %s has no commit yet; write to it first".formatted(table.name()));
    }
    KeyedSchema keyed = KeyedSchema.of(table);
    Schema visible = keyed.visible();
    CopyColumns.check(table.name(), visible);
    Table copy = catalog.tableExists(into.ident()) ? known() : create(keyed, visible);
    Long reached = isFull ? null : CopyState.of(copy).reached();
    new CopyColumns(visible, copy).follow();
    String reason = isFull ? "asked for" : reason(reached, head, copy);
    if (reason == null && reached != null && isReached(reached, head)) {
      CopyState.remember(copy, reached);
      hold(reached);
      return done(copy, "nothing", null, reached);
    }
    hold(reached == null || table.snapshot(reached) == null ? head : reached);
    if (reason == null && reached != null) {
      long after = reached;
      write(copy, head, to -> merge(to, after, head, keyed, visible));
    } else {
      write(copy, head, to -> fill(to, head, visible));
    }
    CopyState.remember(copy, head);
    hold(head);
    return done(copy, reason == null ? "changes" : "full", reason, head);
  }

  private boolean isReached(long reached, long head) {
    return reached == head || CommitRange.of(table, reached, head).writes().isEmpty();
  }

  /** The reason why all rows have to be written; null where changes are enough. */
  private @Nullable String reason(@Nullable Long reached, long head, Table copy) {
    if (reached == null) {
      return "new copy";
    }
    if (table.snapshot(reached) == null) {
      return "commit %d of the table has expired".formatted(reached);
    }
    if (!SnapshotUtil.isAncestorOf(head, reached, table::snapshot)) {
      return "commit %d of the table was rolled back".formatted(reached);
    }
    return copy.properties().get(CopyColumns.REWRITE);
  }

  private Table known() {
    Table copy = catalog.loadTable(into.ident());
    if (!table.uuid().toString().equals(copy.properties().get(OF))) {
      throw new KeylakeException(
          TABLE_EXISTS,
          "table %s exists, and is no copy of %s; take another name, or drop it"
              .formatted(copy.name(), table.name()));
    }
    return copy;
  }

  private Table create(KeyedSchema keyed, Schema visible) {
    Set<Integer> key = keyed.key().stream().map(NestedField::fieldId).collect(Collectors.toSet());
    Schema schema = new Schema(visible.columns(), key);
    PartitionSpec.Builder partitions = PartitionSpec.builderFor(schema);
    List<NestedField> by = keyed.bucketBy();
    int buckets = keyed.spec().buckets();
    // the hash of several columns is no transform of Iceberg's, and one bucket is none at all
    if (by.size() == 1
        && buckets > 1
        && keyed.spec().groups() == null
        && Transforms.bucket(buckets).canTransform(by.get(0).type())) {
      partitions.bucket(by.get(0).name(), buckets);
    }
    Map<String, String> properties = new HashMap<>();
    properties.put("format-version", String.valueOf(FORMAT_VERSION));
    List.of("write.merge.mode", "write.update.mode", "write.delete.mode")
        .forEach(mode -> properties.put(mode, "merge-on-read"));
    properties.put(OF, table.uuid().toString());
    try {
      CertainOperations.ofNew(
              catalog
                  .buildTable(into.ident(), schema)
                  .withPartitionSpec(partitions.build())
                  .withProperties(properties)
                  .createTransaction())
          .commitTransaction();
      return catalog.loadTable(into.ident());
    } catch (AlreadyExistsException e) {
      return known();
    }
  }

  /** Keeps the changes that the copy does not have yet from expiring. */
  private void hold(long commit) {
    Positions positions = new Positions(table, Positions.Kind.CONSUMER);
    table.refresh();
    String name = "copy." + into.ident().toString().replaceAll("[^A-Za-z0-9_.-]", "-");
    Long known = positions.all().get(name);
    if (known == null || known != commit) {
      positions.move(name, known, commit);
    }
  }

  private void write(Table copy, long head, Writing rows) {
    String branch = "keylake_" + UUID.randomUUID().toString().replace("-", "");
    begin(copy, branch);
    String to = into.sql() + ".`branch_" + branch + "`";
    try {
      CommitMetadata.withCommitProperties(
          Map.of(CopyState.REACHED, String.valueOf(head)),
          () -> {
            rows.to(to);
            return null;
          },
          RuntimeException.class);
      references(
          copy,
          () ->
              CertainOperations.of(copy)
                  .manageSnapshots()
                  .fastForwardBranch(MAIN, branch)
                  .removeBranch(branch));
    } catch (RuntimeException e) {
      copy.refresh();
      if (copy.refs().containsKey(branch)) {
        references(copy, () -> CertainOperations.of(copy).manageSnapshots().removeBranch(branch));
      }
      throw isOvertaken(e) ? overtaken(copy) : e;
    }
    copy.refresh();
  }

  /** Writes to a branch of the copy. */
  private interface Writing {
    void to(String branch) throws NoSuchTableException;
  }

  private static void begin(Table copy, String branch) {
    // of a publish that was killed, the branch is left; cleaning of the copy forgets it
    references(
        copy,
        () -> {
          Snapshot at = copy.currentSnapshot();
          ManageSnapshots change = CertainOperations.of(copy).manageSnapshots();
          change =
              at == null
                  ? change.createBranch(branch)
                  : change.createBranch(branch, at.snapshotId());
          return change.setMaxRefAgeMs(branch, TimeUnit.DAYS.toMillis(1));
        });
  }

  /** Changes branches; Iceberg itself does not try again when a commit comes between. */
  private static void references(Table copy, Supplier<ManageSnapshots> change) {
    for (int attempt = 1; ; attempt++) {
      copy.refresh();
      try {
        change.get().commit();
        return;
      } catch (CommitFailedException e) {
        if (attempt == MOST_ATTEMPTS) {
          throw e;
        }
      }
    }
  }

  private static boolean isOvertaken(RuntimeException e) {
    return e instanceof CommitFailedException
        || String.valueOf(e.getMessage()).contains("is not an ancestor of");
  }

  private static KeylakeException overtaken(Table copy) {
    return new KeylakeException(
        COMMIT_CONFLICT,
        "the copy %s was written by somebody else meanwhile; nothing was changed; publish again"
            .formatted(copy.name()));
  }

  /** The rows of a commit, under the names that the columns have now. */
  private void fill(String to, long head, Schema visible) throws NoSuchTableException {
    Schema then = SnapshotUtil.schemaFor(table, head);
    Dataset<Row> rows =
        spark.sql("SELECT * FROM %s VERSION AS OF %d".formatted(source.sql(), head));
    Column[] columns =
        visible.columns().stream()
            .map(column -> ValueAsNow.of(column, then, name -> rows.col(quoted(name))))
            .toArray(Column[]::new);
    // keys are never null, whatever the plan says of them
    rows.select(columns)
        .writeTo(to)
        .option("check-nullability", "false")
        .overwrite(functions.lit(true));
  }

  /** Applies the net changes after one commit and up to another. */
  private void merge(String to, long after, long until, KeyedSchema keyed, Schema visible) {
    Set<String> key = keyed.key().stream().map(NestedField::name).collect(Collectors.toSet());
    List<String> all = visible.columns().stream().map(NestedField::name).toList();
    List<String> values = all.stream().filter(name -> !key.contains(name)).toList();
    String update =
        values.isEmpty()
            ? ""
            : " WHEN MATCHED THEN UPDATE SET "
                + joined(values, ", ", name -> "t." + name + " = s._after." + name);
    spark.sql(
        "MERGE INTO "
            + to
            + " AS t USING (SELECT "
            + joined(List.copyOf(key), ", ", name -> name)
            + ", _change, _after FROM "
            + source.sql()
            + ".`changes` WITH ('after' = '%d', 'until' = '%d')) AS s ON ".formatted(after, until)
            + joined(List.copyOf(key), " AND ", name -> "t." + name + " = s." + name)
            + " WHEN MATCHED AND s._change = 'delete' THEN DELETE"
            + update
            + " WHEN NOT MATCHED AND s._change <> 'delete' THEN INSERT ("
            + joined(all, ", ", name -> name)
            + ") VALUES ("
            + String.join(
                ", ",
                all.stream()
                    .map(name -> (key.contains(name) ? "s." : "s._after.") + quoted(name))
                    .toList())
            + ")");
  }

  private static String quoted(String name) {
    return QuotingUtils.quoteIdentifier(name);
  }

  private static String joined(List<String> names, String with, UnaryOperator<String> each) {
    return names.stream().map(name -> each.apply(quoted(name))).collect(Collectors.joining(with));
  }

  private Done done(Table copy, String mode, @Nullable String reason, long reached) {
    Snapshot at = copy.currentSnapshot();
    Map<String, String> summary = mode.equals("nothing") ? Map.of() : at.summary();
    return new Done(
        mode,
        reason,
        reached,
        at.snapshotId(),
        count(summary, "added-records"),
        count(summary, mode.equals("full") ? "deleted-records" : "added-position-deletes"));
  }

  private static long count(Map<String, String> summary, String name) {
    return Long.parseLong(summary.getOrDefault(name, "0"));
  }
}
