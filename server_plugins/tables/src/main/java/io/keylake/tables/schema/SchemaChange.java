package io.keylake.tables.schema;

import io.keylake.tables.Backoff;
import io.keylake.tables.buckets.BucketCounts;
import io.keylake.tables.outcomes.CertainOperations;
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

/**
 * Changes of the columns of a table, all of them or none. No file is touched: files have columns
 * and version leaves by field id, and what a file lacks is absent.
 */
public final class SchemaChange {
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
    Backoff.retry(table, "the change of the columns", () -> tried(table, wanted));
  }

  private static List<ColumnChange> tried(
      Table table, Function<KeyedSchema, List<ColumnChange>> wanted) {
    Transaction all = CertainOperations.of(table).newTransaction();
    List<ColumnChange> changes = wanted.apply(KeyedSchema.of(all.table()));
    if (!changes.isEmpty()) {
      addTo(all, changes);
      all.commitTransaction();
    }
    return changes;
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

  /** The properties that a table gets where names in its spec change. */
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
