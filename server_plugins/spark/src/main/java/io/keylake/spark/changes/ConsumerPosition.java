package io.keylake.spark.changes;

import io.keylake.tables.history.Positions;
import org.apache.iceberg.Table;

/** The position of a consumer of a change feed, and the one that the table knows. */
final class ConsumerPosition {
  private final Positions positions;
  private final String name;
  private long at;

  private ConsumerPosition(Positions positions, String name, long at) {
    this.positions = positions;
    this.name = name;
    this.at = at;
  }

  /**
   * The position of a consumer, which is made known to the table if it is new.
   *
   * @param begin where a new one begins
   */
  static ConsumerPosition of(Table table, String name, long begin) {
    table.refresh();
    Positions positions = new Positions(table, Positions.Kind.CONSUMER);
    Long known = positions.all().get(name);
    if (known == null) {
      positions.move(name, null, begin);
    }
    return new ConsumerPosition(positions, name, known == null ? begin : known);
  }

  long at() {
    return at;
  }

  void moveTo(long commit) {
    if (commit != at) {
      positions.move(name, at, commit);
      at = commit;
    }
  }
}
