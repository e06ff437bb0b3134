package io.keylake.tables.adoption;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.SCHEMA_MISMATCH;
import static io.keylake.tables.KeylakeException.Kind.SNAPSHOT_EXPIRED;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.TableDefinition;
import io.keylake.tables.spec.TableSpec;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.iceberg.BaseTable;
import org.apache.iceberg.Schema;
import org.apache.iceberg.Snapshot;
import org.apache.iceberg.Table;
import org.apache.iceberg.types.TypeUtil;
import org.apache.iceberg.types.Types.NestedField;

/**
 * A plain table whose rows have a key, as that of an upsert sink: a row of a key replaces the older
 * one, which an equality delete of the key removes.
 *
 * @param name as people write it
 * @param key the identifier fields, in the order of the columns
 */
public record AdoptedTable(Table table, String name, List<NestedField> key) {
  private static final int FIRST_FORMAT_WITH_ORDER = 2;

  public AdoptedTable {
    key = List.copyOf(key);
  }

  public static AdoptedTable of(Table table, String name) {
    if (KeyedSchema.isKeyed(table)) {
      throw refused(name, "is a keyed table already; read and write it as it is");
    }
    int version = ((BaseTable) table).operations().current().formatVersion();
    if (version < FIRST_FORMAT_WITH_ORDER) {
      throw refused(
          name,
          "is of format %d, which has no order of commits; set its property 'format-version' to 2"
              .formatted(version));
    }
    Schema schema = table.schema();
    Set<Integer> ids = schema.identifierFieldIds();
    if (ids.isEmpty()) {
      throw new KeylakeException(
          DEFINITION,
          "%s has no identifier fields, so that its key is not known; say it with ALTER TABLE %s SET IDENTIFIER FIELDS column, ..."
              .formatted(name, name));
    }
    List<NestedField> key =
        schema.columns().stream().filter(column -> ids.contains(column.fieldId())).toList();
    if (key.size() < ids.size()) {
      throw refused(name, "has identifier fields inside of structs; a key has whole columns");
    }
    table.spec().fields().stream()
        .filter(field -> !field.transform().isVoid() && !ids.contains(field.sourceId()))
        .findFirst()
        .ifPresent(
            field -> {
              throw refused(
                  name,
                  "is partitioned by '%s', which is no part of the key, so that rows of one key can be in several partitions"
                      .formatted(schema.findColumnName(field.sourceId())));
            });
    return new AdoptedTable(table, name, key);
  }

  private static KeylakeException refused(String name, String why) {
    return new KeylakeException(UNSUPPORTED, "%s %s".formatted(name, why));
  }

  public String uuid() {
    return table.uuid().toString();
  }

  public Set<Integer> keyIds() {
    return key.stream().map(NestedField::fieldId).collect(Collectors.toSet());
  }

  /** The keyed table for its rows: the versions are the numbers of commits. */
  public TableDefinition definition(int buckets) {
    List<String> names = key.stream().map(NestedField::name).toList();
    TableSpec spec =
        new TableSpec(
            names,
            TableSpec.Versions.EXPLICIT,
            null,
            buckets,
            names,
            List.of(),
            Map.of(),
            Map.of(),
            null);
    int[] nextId = {0};
    Schema columns =
        TypeUtil.assignFreshIds(new Schema(table.schema().columns()), () -> ++nextId[0]);
    return new TableDefinition(spec, columns, table.properties().getOrDefault("comment", ""));
  }

  /** Refuses a keyed table that has other columns. */
  public void checkColumns(Table adopter, String adopterName) {
    Schema there = KeyedSchema.of(adopter).visible();
    for (NestedField column : table.schema().columns()) {
      NestedField same = there.asStruct().field(column.name());
      if (same == null || !isLike(column, same)) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "%s has column '%s' of type %s, and %s has %s; change %s by ALTER TABLE, and adopt again"
                .formatted(
                    name,
                    column.name(),
                    column.type(),
                    adopterName,
                    same == null ? "no such column" : "it as " + same.type(),
                    adopterName));
      }
    }
    for (NestedField column : there.columns()) {
      if (table.schema().asStruct().field(column.name()) == null) {
        throw new KeylakeException(
            SCHEMA_MISMATCH,
            "%s has column '%s', and %s has none of that name; rename or drop it in %s by ALTER TABLE, and adopt again"
                .formatted(adopterName, column.name(), name, adopterName));
      }
    }
  }

  /** The same type, whatever the ids inside of it are. */
  private static boolean isLike(NestedField one, NestedField other) {
    return one.type()
        .toString()
        .replaceAll("\\d+: ", "")
        .equals(other.type().toString().replaceAll("\\d+: ", ""));
  }

  /**
   * The commits of main that are to be taken over, oldest first; the first of them whole if none
   * was yet.
   *
   * @param adopterName as people write it
   */
  public List<Snapshot> commitsAfter(AdoptedUntil until, String adopterName) {
    List<Snapshot> commits = new ArrayList<>();
    Snapshot each = table.currentSnapshot();
    boolean isWhole = each == null;
    while (each != null && each.snapshotId() != until.snapshotId()) {
      commits.add(each);
      isWhole = each.parentId() == null;
      each = isWhole ? null : table.snapshot(each.parentId());
    }
    if (each != null && !until.isLoaded()) {
      commits.add(each);
    }
    if (each == null && !(isWhole && until.snapshotId() == AdoptedUntil.NOTHING)) {
      throw new KeylakeException(
          SNAPSHOT_EXPIRED,
          "%s of %s, up to which %s has its rows, has expired or is not on main any more, so that what came after it is not known; adopt %s into a new table"
              .formatted(
                  until.snapshotId() == AdoptedUntil.NOTHING
                      ? "the time before the first commit"
                      : "commit " + until.snapshotId(),
                  name,
                  adopterName,
                  name));
    }
    Collections.reverse(commits);
    return commits;
  }
}
