package io.keylake.spark.procedures;

import static io.keylake.spark.procedures.TableArgument.quoted;
import static io.keylake.tables.KeylakeException.Kind.TABLE_EXISTS;

import io.keylake.spark.access.AccessControl;
import io.keylake.spark.catalog.AroundProcedure;
import io.keylake.spark.catalog.KeyedCatalog;
import io.keylake.spark.catalog.ListedTable;
import io.keylake.spark.catalog.ReadAnew;
import io.keylake.spark.engine.ClassicSession;
import io.keylake.spark.explain.ExplainProcedure;
import io.keylake.spark.extension.EngineVersions;
import io.keylake.spark.extension.Guests;
import io.keylake.spark.extension.MissingProcedure;
import io.keylake.spark.metadata.CommitRow;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.KeylakeException.Kind;
import io.keylake.tables.Spelling;
import io.keylake.tables.StoreFailure;
import io.keylake.tables.cache.CacheKind;
import io.keylake.tables.commits.Commits;
import io.keylake.tables.commits.Rollback;
import io.keylake.tables.commits.SourceOffsets;
import io.keylake.tables.history.CommitLog;
import io.keylake.tables.history.CommitRange;
import io.keylake.tables.history.OffsetRanges;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.apache.iceberg.Table;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.exceptions.AlreadyExistsException;
import org.apache.spark.sql.connector.catalog.procedures.ProcedureParameter;
import org.apache.spark.sql.connector.catalog.procedures.UnboundProcedure;
import org.apache.spark.sql.types.DataTypes;
import org.jspecify.annotations.Nullable;

/**
 * The statements of {@code CALL <catalog>.system}: what the SDK asks a server to do, and anybody
 * else may.
 */
public final class KeylakeProcedures {
  private final KeyedCatalog catalog;
  private final TableArgument tables;
  private final Map<String, UnboundProcedure> byName;

  public KeylakeProcedures(KeyedCatalog catalog) {
    this.catalog = catalog;
    this.tables = new TableArgument(catalog);
    List<UnboundProcedure> core =
        Stream.<List<? extends UnboundProcedure>>of(
                List.of(
                    version(),
                    createTable(),
                    createTableLike(),
                    tables(),
                    cache(),
                    commits(),
                    commitRange(),
                    rollback(),
                    forgetSent()),
                new BranchProcedures(tables).all(),
                new HistoryProcedures(tables).all(),
                new PositionProcedures(tables).all(),
                new FileProcedures(tables).all(),
                new CheckProcedures(tables).all(),
                new CompactionProcedures(tables).all(),
                List.of(
                    new AdoptProcedure(catalog, tables).procedure(),
                    new AdoptCommitProcedure(tables).procedure(),
                    new RegisterProcedure(tables).procedure()),
                new BucketProcedures(tables).all(),
                new SchemaProcedures(tables).all(),
                new ExperimentProcedures(tables).all(),
                new HousekeepingProcedures(tables).all(),
                new PublishProcedures(tables).all(),
                List.of(new ExplainProcedure(tables::read)),
                MaintenanceProcedures.all())
            .<UnboundProcedure>flatMap(List::stream)
            .toList();
    this.byName = Guests.loaded().procedures(core, tables);
  }

  /** The procedure of that name, of the core or of a guest, or null. */
  public @Nullable UnboundProcedure find(String name) {
    String lower = name.toLowerCase(Locale.ROOT);
    UnboundProcedure own = byName.get(lower);
    return own == null
        ? Guests.loaded().missingProcedure(lower)
        : new ReadAnew(catalog).after(told(own));
  }

  /** A procedure that refuses its calls and names the one that was meant; null if none is near. */
  public @Nullable UnboundProcedure misspelt(String name) {
    String meant = Spelling.meant(name, names());
    return meant == null
        ? null
        : new MissingProcedure(
            name,
            () ->
                new KeylakeException(
                    Kind.DEFINITION,
                    "there is no procedure '%s'. Did you mean '%s'?".formatted(name, meant)));
  }

  /** A procedure whose catalog and store may not answer. */
  private static UnboundProcedure told(UnboundProcedure procedure) {
    return new AroundProcedure(
        procedure,
        (bound, input) -> {
          try {
            return bound.call(input);
          } catch (RuntimeException e) {
            throw StoreFailure.calling(bound.name(), e);
          }
        });
  }

  /** The names of all. */
  public Set<String> names() {
    return new TreeSet<>(byName.keySet());
  }

  /** A procedure of Iceberg, refused on keyed tables where it would harm them. */
  public UnboundProcedure guarded(UnboundProcedure procedure, String name) {
    return new ReadAnew(catalog).after(IcebergProcedure.of(catalog, procedure, name));
  }

  /** The version of the server. */
  private record VersionRow(String version) {}

  /** A table that was made, and its definition. */
  private record CreatedRow(String table, String spec) {}

  /** A table that was made like another one, of which nothing is told. */
  private record LikeRow(String table) {}

  /** A keyed table, and where its versions come from. */
  private record TableRow(String table, @Nullable String versions, @Nullable String problem) {}

  /** A cache of the server's process. */
  private record CacheRow(
      String cache,
      long values,
      long bytes,
      long mostBytes,
      @Nullable Long hits,
      @Nullable Long misses) {}

  /** The ends of a range of commits, and how many it has. */
  private record RangeRow(long after, long until, long commits) {}

  /** The number of chunks that were removed. */
  private record ForgottenRow(long chunks) {}

  private LocalProcedure version() {
    return LocalProcedure.of(
        "keylake_version",
        List.of(),
        VersionRow.class,
        arguments -> List.of(new VersionRow(EngineVersions.keylake())));
  }

  /** The table and its definition, which its creator would ask for next. */
  private LocalProcedure createTable() {
    return LocalProcedure.of(
        "create_table",
        List.of(LocalProcedure.required("table"), LocalProcedure.required("spec")),
        CreatedRow.class,
        arguments -> {
          TableIdentifier ident = tables.identifier(arguments);
          TableDefinition definition = TableDefinition.fromJson(arguments.requiredText("spec"));
          String name = quoted(ident);
          Table table = create(ident, definition);
          return List.of(new CreatedRow(name, TableDefinition.describe(table, name)));
        });
  }

  private Table create(TableIdentifier ident, TableDefinition definition) {
    try {
      catalog.createNamespaces(ident);
      return catalog.create(ident, definition, Map.of());
    } catch (AlreadyExistsException e) {
      throw new KeylakeException(
          TABLE_EXISTS,
          "table %s exists already; open it, drop it, or take another name"
              .formatted(quoted(ident)));
    }
  }

  /** The procedure that CREATE TABLE ... LIKE becomes; it gives no rows, as a statement does. */
  private LocalProcedure createTableLike() {
    return LocalProcedure.of(
        "create_table_like",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.required("like"),
            ProcedureParameter.in("if_not_exists", DataTypes.BooleanType)
                .defaultValue("false")
                .build()),
        LikeRow.class,
        arguments -> {
          Table like = tables.load(arguments, "like");
          try {
            create(
                tables.identifier(arguments),
                TableDefinition.fromJson(TableDefinition.describe(like, "")));
          } catch (KeylakeException e) {
            if (e.kind() != TABLE_EXISTS || !arguments.isSet("if_not_exists")) {
              throw e;
            }
          }
          return List.of();
        });
  }

  private LocalProcedure tables() {
    return LocalProcedure.of(
        "tables",
        List.of(),
        TableRow.class,
        arguments ->
            ListedTable.all(catalog)
                .filter(each -> AccessControl.isSeen(catalog.name() + "." + each.name()))
                .map(KeylakeProcedures::row)
                .toList());
  }

  private static TableRow row(ListedTable table) {
    TableSpec spec = table.spec();
    return new TableRow(
        quoted(table.name()),
        spec == null ? null : spec.versions().name().toLowerCase(Locale.ROOT),
        table.problem());
  }

  private static LocalProcedure cache() {
    return LocalProcedure.of(
        "cache",
        List.of(),
        CacheRow.class,
        arguments ->
            Stream.of(CacheKind.values())
                .map(
                    kind ->
                        new CacheRow(
                            kind.label(),
                            kind.size(),
                            kind.bytes(),
                            kind.mostBytes(),
                            kind.hits(),
                            kind.misses()))
                .toList());
  }

  private LocalProcedure commits() {
    return LocalProcedure.of(
        "commits",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optional("write_id"),
            LocalProcedure.optional("idempotency_key"),
            LocalProcedure.optional("offsets"),
            LocalProcedure.optionalNumber("at_most"),
            ProcedureParameter.in("compactions", DataTypes.BooleanType)
                .defaultValue("true")
                .build()),
        CommitRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          String writeId = arguments.text("write_id");
          String idempotencyKey = arguments.text("idempotency_key");
          Long atMost = arguments.number("at_most");
          boolean withCompactions = arguments.isSet("compactions");
          String branch = arguments.text("branch");
          OffsetRanges offsets =
              OffsetRanges.parse("argument offsets of the procedure", arguments.text("offsets"));
          if (!offsets.isNone() && writeId == null && idempotencyKey == null) {
            return SourceOffsets.first(table, branch, offsets).stream().map(CommitRow::of).toList();
          }
          CommitLog log = new CommitLog(table, branch);
          List<CommitLog.Entry> found =
              log.entries(
                  entry ->
                      (withCompactions || !entry.isCompaction())
                          && (writeId == null || writeId.equals(entry.writeId()))
                          && (idempotencyKey == null
                              || idempotencyKey.equals(entry.idempotencyKey())),
                  atMost == null ? Integer.MAX_VALUE : Math.toIntExact(atMost));
          if (found.isEmpty() && writeId == null && idempotencyKey != null) {
            found = Commits.remembered(table, log.head(), idempotencyKey).stream().toList();
          }
          return found.stream().map(CommitRow::of).toList();
        });
  }

  /** The commits after one and up to another, as a read of them will find them. */
  private LocalProcedure commitRange() {
    return LocalProcedure.of(
        "commit_range",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.optional("branch"),
            LocalProcedure.optionalNumber("after"),
            LocalProcedure.optionalNumber("until")),
        RangeRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          RangeArgument range = RangeArgument.of(arguments, table, arguments.text("branch"));
          if (range.until() == null) {
            return List.of(new RangeRow(range.after(), CommitRange.BEGINNING, 0));
          }
          long commits = range.commits().commits().size();
          return List.of(new RangeRow(range.after(), range.until(), commits));
        });
  }

  private LocalProcedure rollback() {
    return LocalProcedure.of(
        "rollback",
        List.of(
            LocalProcedure.required("table"),
            LocalProcedure.requiredNumber("to"),
            LocalProcedure.optional("branch")),
        CommitRow.class,
        arguments -> {
          Table table = tables.load(arguments);
          long to = arguments.requiredNumber("to");
          new Commits(table).make(new Rollback(arguments.text("branch"), to));
          return List.of(CommitRow.of(CommitLog.Entry.of(table.snapshot(to))));
        });
  }

  /** Removes chunks of rows that a client has sent, and has written. */
  private static LocalProcedure forgetSent() {
    return LocalProcedure.of(
        "forget_sent",
        List.of(LocalProcedure.optionalTexts("chunks")),
        ForgottenRow.class,
        arguments -> {
          ClassicSession session = ClassicSession.active();
          List<String> chunks = arguments.texts("chunks");
          chunks.forEach(session::forgetSent);
          return List.of(new ForgottenRow(chunks.size()));
        });
  }
}
