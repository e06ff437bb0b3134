package io.keylake.pipelines.multitable;

import io.keylake.spark.write.TableWrite;
import io.keylake.tables.spec.KeyedSchema;
import java.io.Serializable;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The tables of a write, as its tasks know them.
 *
 * @param numbers of the tables, by their names in the rows
 * @param tables in order; null for one that takes no rows, which are left out
 * @param tasks that write the rows
 */
record Targets(Map<String, Integer> numbers, List<@Nullable Target> tables, int tasks)
    implements Serializable {

  /** A table that takes rows. */
  record Target(String name, KeyedSchema schema, TableWrite.Writers writers)
      implements Serializable {}

  /** The task of a bucket: those of one table lie in as many tasks as there are. */
  int taskOf(int table, int bucket) {
    return Math.floorMod(table + bucket, tasks);
  }
}
