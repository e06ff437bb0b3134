package io.keylake.spark.mergedstate;

import io.keylake.tables.storage.StatesFolder;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.Supplier;
import org.apache.iceberg.Table;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.io.SupportsPrefixOperations;
import org.apache.spark.SparkContext;
import org.jspecify.annotations.Nullable;

/**
 * The merged states that this process has made. Nothing is done for tables that nobody asks for.
 */
public final class MergedStates {
  private static final int MOST = 1000;

  private static final MergedStates OF_PROCESS = new MergedStates();

  /**
   * The name of a state.
   *
   * @param table its UUID
   * @param ref the branch or tag of which the rows are; null for main
   */
  record Name(UUID table, @Nullable String ref) {}

  private final Map<Name, MergedState> states =
      new LinkedHashMap<>(16, 0.75f, true) {
        @Override
        protected boolean removeEldestEntry(Map.Entry<Name, MergedState> eldest) {
          return size() > MOST;
        }
      };

  private MergedStates() {}

  public static MergedStates ofProcess() {
    return OF_PROCESS;
  }

  /**
   * The metadata of a plain Iceberg table that has the merged rows of a keyed one.
   *
   * @param table as its catalog has it now
   * @param ref the branch or tag of which the rows are; null for main
   * @param freshness how old the state may be; zero for that of the newest commit
   */
  public TableMetadata of(
      SparkContext spark, Table table, @Nullable String ref, Duration freshness) {
    return of(spark, new Name(table.uuid(), ref), () -> table, freshness);
  }

  /**
   * The same of a table of which only the UUID is known.
   *
   * @param newest the table as its catalog has it, which is asked only where that is needed
   */
  TableMetadata of(SparkContext spark, Name name, Supplier<Table> newest, Duration freshness) {
    MergedState state = stateOf(name);
    TableMetadata fresh = state.within(freshness);
    return fresh != null ? fresh : state.at(spark, newest.get());
  }

  /** Has the next request for a table find the newest commit: its client may have made it. */
  void outdate(UUID table) {
    List<MergedState> ofTable = new ArrayList<>();
    synchronized (this) {
      states.forEach(
          (name, state) -> {
            if (name.table().equals(table)) {
              ofTable.add(state);
            }
          });
    }
    ofTable.forEach(MergedState::outdate);
  }

  /** Deletes the states of a table whose files are deleted, too, of whatever server they are. */
  public void purge(Table table) {
    synchronized (this) {
      states.keySet().removeIf(name -> name.table().equals(table.uuid()));
    }
    if (table.io() instanceof SupportsPrefixOperations io) {
      io.deletePrefix(StatesFolder.of(table));
    }
  }

  private synchronized MergedState stateOf(Name name) {
    return states.computeIfAbsent(name, of -> new MergedState(of.ref()));
  }
}
