package io.keylake.tables.schema;

import static io.keylake.tables.KeylakeException.Kind.COMMIT_CONFLICT;

import io.keylake.tables.KeylakeException;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.PastSpecs;
import io.keylake.tables.spec.TableSpec;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdateProperties;
import org.apache.iceberg.UpdateSchema;
import org.apache.iceberg.exceptions.CommitFailedException;

/**
 * Changes of the columns of a table, all of them or none. No file is touched: files have columns
 * and version leaves by field id, and what a file lacks is absent.
 */
public final class SchemaChange {
  /** Any commit in between is an end to a try: the changes are checked against what is there. */
  private static final int MOST_TRIES = 100;

  private SchemaChange() {}

  /** Makes the changes in one commit. */
  public static void make(Table table, List<ColumnChange> changes) {
    make(table, now -> changes);
  }

  /**
   * Makes changes that depend on what the table has when they are committed, in one commit.
   *
   * @param wanted an empty list changes nothing
   */
  public static void make(Table table, Function<KeyedSchema, List<ColumnChange>> wanted) {
    for (int tries = 1; ; tries++) {
      try {
        tried(table, wanted);
        table.refresh();
        return;
      } catch (CommitFailedException e) {
        if (tries == MOST_TRIES) {
          throw new KeylakeException(
              COMMIT_CONFLICT,
              "the change of the columns of table %s lost against other commits %d times (%s); change them again"
                  .formatted(table.name(), MOST_TRIES, e.getMessage()));
        }
      }
    }
  }

  private static void tried(Table table, Function<KeyedSchema, List<ColumnChange>> wanted) {
    Transaction all = table.newTransaction();
    List<ColumnChange> changes = wanted.apply(KeyedSchema.of(all.table()));
    if (!changes.isEmpty()) {
      addTo(all, changes);
      all.commitTransaction();
    }
  }

  /** Makes the changes in a transaction. */
  public static void addTo(Transaction all, List<ColumnChange> changes) {
    KeyedSchema before = KeyedSchema.of(all.table());
    UpdateSchema update = all.updateSchema();
    ColumnUpdate columns = new ColumnUpdate(all.table(), before, update);
    changes.forEach(columns::add);
    KeyedSchema after = columns.finish();
    Map<String, String> properties = properties(all.table(), before, after);
    update.commit();
    if (!properties.isEmpty()) {
      UpdateProperties said = all.updateProperties();
      properties.forEach(said::set);
      PastSpecs.forgotten(all.table().properties(), all.table().schemas().keySet())
          .forEach(said::remove);
      said.commit();
    }
  }

  /** What the table has to say where names in its spec change. */
  private static Map<String, String> properties(Table now, KeyedSchema before, KeyedSchema after) {
    Map<String, String> properties = new HashMap<>();
    if (!after.spec().equals(before.spec())) {
      properties.putAll(PastSpecs.kept(now.properties(), now.schemas().keySet(), before.spec()));
      properties.put(TableSpec.PROPERTY, after.spec().toJson());
    }
    if (!BucketCounts.fieldName(after).equals(BucketCounts.fieldName(before))) {
      properties.put(BucketCounts.PROPERTY, BucketCounts.said(now));
    }
    return properties;
  }
}
