package io.keylake.tables.commits;

import io.keylake.tables.catalogs.ForwardedOperations;
import java.util.Iterator;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.jspecify.annotations.Nullable;

/** A table of which a test says what becomes of each commit. */
public final class SteeredOperations extends ForwardedOperations {
  private final Commit commit;
  private final Runnable question;

  /**
   * @param question is asked before each look at what the table is now
   */
  public SteeredOperations(TableOperations operations, Commit commit, Runnable question) {
    super(operations);
    this.commit = commit;
    this.question = question;
  }

  public SteeredOperations(TableOperations operations, Commit commit) {
    this(operations, commit, () -> {});
  }

  /** Sends a commit to the catalog, or does not. */
  @FunctionalInterface
  public interface Commit {
    void send(Runnable toCatalog);
  }

  /** A catalog that fails at each commit, though it may have taken it. */
  public static SteeredOperations failing(
      TableOperations operations, boolean isTaken, RuntimeException failure) {
    return new SteeredOperations(
        operations,
        toCatalog -> {
          if (isTaken) {
            toCatalog.run();
          }
          throw failure;
        });
  }

  /** Another commit comes first, before each of as many commits as there are others. */
  static SteeredOperations busy(TableOperations operations, Iterator<Runnable> others) {
    return new SteeredOperations(
        operations,
        toCatalog -> {
          if (others.hasNext()) {
            others.next().run();
          }
          toCatalog.run();
        });
  }

  @Override
  public TableMetadata refresh() {
    question.run();
    return super.refresh();
  }

  @Override
  public void commit(@Nullable TableMetadata base, TableMetadata metadata) {
    commit.send(() -> super.commit(base, metadata));
  }
}
