package io.keylake.spark.procedures;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.TABLE_EXISTS;

import io.keylake.spark.adoption.AdoptedRows;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.procedures.LocalProcedure.Arguments;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.adoption.AdoptedCommit;
import io.keylake.tables.adoption.AdoptedTable;
import io.keylake.tables.adoption.AdoptedUntil;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.Catalog;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.spark.sql.catalyst.analysis.NoSuchTableException;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/**
 * A keyed table takes over the rows of a plain one: all of them first, then commit by commit. Each
 * commit is taken over once, by its idempotency key.
 */
record AdoptProcedure(KeyedCatalog catalog, TableArgument tables) {
  private static final int DEFAULT_BUCKETS = 16;

  /** The commits that were taken over; no rows where that was only planned. */
  private record AdoptedRow(
      long commits, @Nullable Long rows, @Nullable Long snapshotId, boolean isNew) {}

  LocalProcedure procedure() {
    return LocalProcedure.of(
        "adopt",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.required("into"),
            LocalProcedure.optionalNumber("buckets"),
            ProcedureParameter.in("dry_run", DataTypes.BooleanType).defaultValue("false").build()),
        AdoptedRow.class,
        arguments -> List.of(adopt(arguments)));
  }

  private AdoptedRow adopt(Arguments arguments) {
    AdoptedTable adopted =
        AdoptedTable.of(tables.load(arguments), TableArgument.quoted(tables.identifier(arguments)));
    TableIdentifier into = tables.identifier(arguments, "into");
    Catalog icebergCatalog = catalog.icebergCatalog();
    boolean isNew = !icebergCatalog.tableExists(into);
    AdoptedUntil until =
        isNew
            ? AdoptedUntil.beginning(adopted)
            : until(icebergCatalog.loadTable(into), into, adopted, arguments);
    List<Snapshot> commits = adopted.commitsAfter(until, TableArgument.quoted(into));
    TableDefinition definition = adopted.definition(buckets(arguments));
    if (arguments.isSet("dry_run")) {
      Snapshot last = commits.isEmpty() ? null : commits.get(commits.size() - 1);
      return new AdoptedRow(commits.size(), null, last == null ? null : last.snapshotId(), isNew);
    }
    if (isNew) {
      catalog.createNamespaces(into);
      catalog.create(into, definition, Map.of(AdoptedUntil.PROPERTY, until.toJson()));
    }
    Table adopter = icebergCatalog.loadTable(into);
    long rows = 0;
    for (Snapshot commit : commits) {
      rows += takeOver(adopted, commit, until, adopter, arguments, into);
      until = until.and(commit);
      CertainOperations.of(adopter)
          .updateProperties()
          .set(AdoptedUntil.PROPERTY, until.toJson())
          .commit();
    }
    return new AdoptedRow(
        commits.size(),
        rows,
        until.snapshotId() == AdoptedUntil.NOTHING ? null : until.snapshotId(),
        isNew);
  }

  private static int buckets(Arguments arguments) {
    Long buckets = arguments.number("buckets");
    return buckets == null
        ? DEFAULT_BUCKETS
        : (int) Math.min(Math.max(buckets, Integer.MIN_VALUE), Integer.MAX_VALUE);
  }

  /** The commit up to which a table that is there has taken over another one. */
  private static AdoptedUntil until(
      Table adopter, TableIdentifier into, AdoptedTable adopted, Arguments arguments) {
    String name = TableArgument.quoted(into);
    AdoptedUntil until = AdoptedUntil.of(adopter).orElse(null);
    if (until == null || !until.uuid().equals(adopted.uuid()) || !KeyedSchema.isKeyed(adopter)) {
      throw new KeylakeException(
          TABLE_EXISTS,
          "table %s exists, and it was not made to adopt %s; give another name for into"
              .formatted(name, adopted.name()));
    }
    if (arguments.number("buckets") != null) {
      int there = KeyedSchema.of(adopter).spec().buckets();
      if (there != buckets(arguments)) {
        throw new KeylakeException(
            DEFINITION,
            "buckets is %d, but %s has %d already; leave it out, and call rebucket to change it"
                .formatted(buckets(arguments), name, there));
      }
    }
    adopted.checkColumns(adopter, name);
    return until;
  }

  /** Takes a commit over, and returns the number of written rows. */
  private long takeOver(
      AdoptedTable adopted,
      Snapshot commit,
      AdoptedUntil until,
      Table adopter,
      Arguments arguments,
      TableIdentifier into) {
    try (AdoptedRows rows = AdoptedRows.of(adopted, tables.inSql(tables.identifier(arguments)))) {
      AdoptedRows.Writing writing;
      if (until.isLoaded()) {
        AdoptedCommit changes = AdoptedCommit.of(adopted, commit);
        if (changes.isEmpty()) {
          return 0;
        }
        writing = rows.of(changes);
      } else {
        writing = rows.whole(commit);
      }
      String writeId = UUID.randomUUID().toString();
      Map<String, String> options = new HashMap<>(writing.options());
      options.put("write_id", writeId);
      options.put("idempotency_key", "adopt %s %d".formatted(adopted.uuid(), commit.snapshotId()));
      writing.rows().writeTo(tables.inSql(into)).options(options).append();
      adopter.refresh();
      return new CommitLog(adopter, null)
          .entries(entry -> writeId.equals(entry.writeId()), 1).stream()
              .mapToLong(entry -> entry.rows() == null ? 0 : entry.rows())
              .sum();
    } catch (NoSuchTableException e) {
      throw new IllegalStateException(e); // it was loaded a moment ago
    }
  }
}
