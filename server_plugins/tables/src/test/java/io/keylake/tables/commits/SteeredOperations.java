package io.keylake.tables.commits;

import java.util.Iterator;
import org.apache.iceberg.TableMetadata;
import org.apache.iceberg.TableOperations;
import org.apache.iceberg.io.FileIO;
import org.apache.iceberg.io.LocationProvider;

/**
 * A table of which a test says what becomes of each commit.
 *
 * @param question is asked before each look at what the table is now
 */
public record SteeredOperations(TableOperations operations, Commit commit, Runnable question)
    implements TableOperations {

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
  public TableMetadata current() {
    return operations.current();
  }

  @Override
  public TableMetadata refresh() {
    question.run();
    return operations.refresh();
  }

  @Override
  public void commit(TableMetadata base, TableMetadata metadata) {
    commit.send(() -> operations.commit(base, metadata));
  }

  @Override
  public FileIO io() {
    return operations.io();
  }

  @Override
  public String metadataFileLocation(String fileName) {
    return operations.metadataFileLocation(fileName);
  }

  @Override
  public LocationProvider locationProvider() {
    return operations.locationProvider();
  }
}
