package io.keylake.tables.buckets;

import static io.keylake.tables.KeylakeException.Kind.DEFINITION;
import static io.keylake.tables.KeylakeException.Kind.UNSUPPORTED;

import io.keylake.tables.Backoff;
import io.keylake.tables.KeylakeException;
import io.keylake.tables.outcomes.CertainOperations;
import io.keylake.tables.spec.KeyedSchema;
import io.keylake.tables.spec.SpecJson;
import io.keylake.tables.spec.TableSpec;
import java.util.Map;
import org.apache.iceberg.Table;
import org.apache.iceberg.Transaction;
import org.apache.iceberg.UpdatePartitionSpec;
import org.apache.iceberg.expressions.Expressions;

/**
 * More buckets for a table: what is written from now on is divided into so many, and no file is
 * touched. Each of them is a part of one that is there, so that old and new files can be read
 * together.
 *
 * @param before how many there were
 * @param after how many there are
 */
public record BucketChange(int before, int after) {
  public static BucketChange make(Table table, long wanted) {
    return Backoff.retry(
        table,
        "the new bucket count",
        () -> tried(CertainOperations.of(table).newTransaction(), wanted));
  }

  private static BucketChange tried(Transaction all, long wanted) {
    Table table = all.table(); // another change may have come since the table was refreshed
    KeyedSchema schema = KeyedSchema.of(table);
    int before = schema.spec().buckets();
    check(table, before, wanted);
    int after = (int) wanted;
    TableSpec spec = schema.spec().withBuckets(after);
    String old = BucketCounts.last(BucketCounts.of(table).spec(before)).orElseThrow().name();
    String name = BucketCounts.fieldName(schema) + "_" + after;
    checkName(schema, name);
    Map<String, Integer> counts = BucketCounts.byField(table);
    counts.put(name, after);
    UpdatePartitionSpec partitioning = all.updateSpec();
    if (schema.hasBucketColumn()) {
      partitioning.renameField(old, name);
    } else {
      partitioning
          .removeField(old)
          .addField(name, Expressions.bucket(spec.bucketBy().get(0), after));
    }
    partitioning.commit();
    all.updateProperties()
        .set(TableSpec.PROPERTY, spec.toJson())
        .set(BucketCounts.PROPERTY, SpecJson.write(counts))
        .commit();
    all.commitTransaction();
    return new BucketChange(before, after);
  }

  private static void check(Table table, int before, long wanted) {
    if (KeyedSchema.of(table).hasGroups()) {
      throw new KeylakeException(
          UNSUPPORTED,
          "table %s has key groups, and their buckets cannot be changed yet; create a table with %d buckets and write the rows there"
              .formatted(table.name(), wanted));
    }
    if (wanted <= before) {
      throw new KeylakeException(
          DEFINITION,
          "table %s has %d buckets, and %d are not more; the count can only grow, to a multiple such as %d"
              .formatted(table.name(), before, wanted, 2L * before));
    }
    if (wanted % before != 0) {
      long below = wanted - wanted % before;
      long above = below + before;
      throw new KeylakeException(
          DEFINITION,
          "table %s has %d buckets, and %d is no multiple of that; take %s, so that each new bucket is a part of an old one"
              .formatted(
                  table.name(),
                  before,
                  wanted,
                  below == before ? above : "%d or %d".formatted(below, above)));
    }
    if (wanted > TableSpec.MOST_BUCKETS) {
      throw new KeylakeException(
          DEFINITION,
          "buckets is %d; it must be from 1 to %d".formatted(wanted, TableSpec.MOST_BUCKETS));
    }
  }

  private static void checkName(KeyedSchema schema, String name) {
    if (schema.visible().caseInsensitiveFindField(name) != null) {
      throw new KeylakeException(
          DEFINITION,
          "column '%s' has the name that Iceberg gives to so many buckets; take another count"
              .formatted(name));
    }
  }
}
