package io.keylake.merge;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.Function;
import java.util.function.ToLongFunction;

/**
 * A run in memory, stricter than a real one: a batch that has been replaced is overwritten, and
 * stamps that need not be read, as the rules say, cannot be read.
 */
public final class RowsCursor extends RunCursor {
  private final List<StoredRow> rows;
  private final MergeRules rules;
  private final int run;
  private final List<String> leaves;
  private final int batchRows;
  private final ToLongFunction<Key> prefix;
  private final boolean versionsAreRead;
  private final List<Stamps> classes = new ArrayList<>();
  private Stamps versions;
  private Stamps written;
  private Stamps deleted;
  private List<StoredRow> batch = List.of();
  private long[] prefixes = new long[0];
  private int read;
  private boolean closed;

  /**
   * @param run which of the runs in {@code rules} this is
   * @param leaves for each column class of {@code rules} a version leaf
   */
  public RowsCursor(
      List<StoredRow> rows,
      MergeRules rules,
      int run,
      List<String> leaves,
      int batchRows,
      ToLongFunction<Key> prefix) {
    this.rows = rows;
    this.rules = rules;
    this.run = run;
    this.leaves = leaves;
    this.batchRows = batchRows;
    this.prefix = prefix;
    this.versionsAreRead =
        rules.order() == MergeRules.Order.VERSION || rules.wanted() != MergeRules.Wanted.ROWS;
  }

  public StoredRow stored(int row) {
    return batch.get(row);
  }

  boolean isClosed() {
    return closed;
  }

  @Override
  protected int load() {
    Arrays.fill(prefixes, 0x5CA1AB1E);
    batch = rows.subList(read, Math.min(read + batchRows, rows.size()));
    read += batch.size();
    prefixes = batch.stream().map(StoredRow::key).mapToLong(prefix).toArray();
    show(prefixes);
    fillStamps();
    return batch.size();
  }

  @Override
  protected int compareTied(int row, RunCursor other, int otherRow) {
    return stored(row).key().compareTo(((RowsCursor) other).stored(otherRow).key());
  }

  @Override
  protected boolean isExact() {
    return rows.stream()
        .map(StoredRow::key)
        .allMatch(key -> key.second() == 0 && prefix.applyAsLong(key) == key.first());
  }

  @Override
  public Stamps versions() {
    return readable(versions);
  }

  @Override
  public Stamps written() {
    return readable(written);
  }

  @Override
  public Stamps deleted() {
    return readable(deleted);
  }

  @Override
  public Stamps columns(int columnClass) {
    return readable(classes.get(columnClass));
  }

  private static Stamps readable(Stamps stamps) {
    if (stamps == null) {
      throw new IllegalStateException("the rules say that these stamps need not be read");
    }
    return stamps;
  }

  private void fillStamps() {
    versions = versionsAreRead ? stamps(Presence.PER_ROW, StoredRow::version) : null;
    written = stamps(rules.written().get(run), StoredRow::written);
    deleted = stamps(rules.deleted().get(run), StoredRow::deleted);
    classes.clear();
    for (int c = 0; c < leaves.size(); c++) {
      String leaf = leaves.get(c);
      classes.add(stamps(rules.classes().get(c).byRun().get(run), row -> row.versionOf(leaf)));
    }
  }

  private Stamps stamps(Presence presence, Function<StoredRow, Long> version) {
    if (presence != Presence.PER_ROW) {
      return null;
    }
    Stamps stamps = new Stamps(batch.size());
    for (int row = 0; row < batch.size(); row++) {
      Long at = version.apply(stored(row));
      if (at != null) {
        stamps.set(row, versionsAreRead ? at : 0); // else only its presence matters
      }
    }
    return stamps;
  }

  @Override
  public void close() {
    closed = true;
  }
}
