package io.keylake.tables.catalogs;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.apache.iceberg.ClientPool;
import org.apache.iceberg.catalog.TableIdentifier;
import org.apache.iceberg.jdbc.JdbcClientPool;
import org.apache.iceberg.jdbc.UncheckedInterruptedException;
import org.apache.iceberg.jdbc.UncheckedSQLException;

/**
 * The rows of a catalog in a database, of which each says where the metadata of a table is. One
 * transaction of the database changes several of them: each only where it is as it is expected to
 * be.
 */
final class PointerRows {
  private static final String NAMED =
      " WHERE catalog_name = ? AND table_namespace = ? AND table_name = ?";
  private static final String OF_TABLE = NAMED + " AND metadata_location = ?";
  private static final String LOOK = "SELECT metadata_location FROM iceberg_tables" + NAMED;
  private static final String MOVE =
      "UPDATE iceberg_tables SET metadata_location = ?, previous_metadata_location = ?" + OF_TABLE;

  /** Changes nothing, and keeps others from changing the row until the transaction ends. */
  private static final String STAY =
      "UPDATE iceberg_tables SET metadata_location = metadata_location" + OF_TABLE;

  private static final String CREATE =
      "INSERT INTO iceberg_tables (catalog_name, table_namespace, table_name, metadata_location) VALUES (?, ?, ?, ?)";

  /** States of SQL begin so where a row is there already; SQLite has no states, but a code. */
  private static final String CONSTRAINT = "23";

  private static final int CONSTRAINT_OF_SQLITE = 19;

  /** The state of SQL for a connection that is not there any more. */
  private static final String NO_CONNECTION = "08003";

  private final JdbcClientPool connections;
  private final String catalog;

  PointerRows(JdbcClientPool connections, String catalog) {
    this.connections = connections;
    this.catalog = catalog;
  }

  /** The location of the metadata of a table or view; empty where there is none. */
  Optional<String> location(TableIdentifier table) {
    return asked(
        connection -> {
          try (PreparedStatement statement = connection.prepareStatement(LOOK)) {
            set(statement, catalog, namespace(table), table.name());
            try (ResultSet found = statement.executeQuery()) {
              return found.next() ? Optional.ofNullable(found.getString(1)) : Optional.empty();
            }
          }
        },
        "table %s of catalog %s could not be looked up".formatted(table, catalog));
  }

  /** Moves all tables, or none; false where one of them is not as expected. */
  boolean move(List<MetadataMove> moves) {
    List<MetadataMove> ordered = // so that two transactions do not wait for each other
        moves.stream().sorted(Comparator.comparing(each -> each.table().toString())).toList();
    return asked(
        connection -> moved(connection, ordered),
        "%d tables of catalog %s could not be changed".formatted(moves.size(), catalog));
  }

  private <T> T asked(ClientPool.Action<T, Connection, SQLException> question, String failure) {
    try {
      return connections.run(question);
    } catch (SQLException e) {
      throw new UncheckedSQLException(e, "%s", failure);
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw new UncheckedInterruptedException(e, "%s", failure);
    }
  }

  private boolean moved(Connection connection, List<MetadataMove> moves) throws SQLException {
    try {
      connection.setAutoCommit(false);
      boolean isMade = true;
      for (MetadataMove move : moves) {
        isMade = isMade && isMade(connection, move);
      }
      if (isMade) {
        connection.commit();
      } else {
        connection.rollback();
      }
      connection.setAutoCommit(true);
      return isMade;
    } catch (SQLException e) {
      giveUp(connection, e);
      throw e;
    }
  }

  /**
   * Ends a transaction that has failed. A connection on which that fails, too, must not be used
   * again: what others do on it later would be a part of the transaction. The failure of a
   * connection lets the pool replace it, and the database roll back.
   */
  private static void giveUp(Connection connection, SQLException failure) throws SQLException {
    try {
      connection.rollback();
      connection.setAutoCommit(true);
    } catch (SQLException e) {
      failure.addSuppressed(e);
      throw new SQLTransientConnectionException(failure.getMessage(), NO_CONNECTION, failure);
    }
  }

  private boolean isMade(Connection connection, MetadataMove move) throws SQLException {
    TableIdentifier table = move.table();
    String from = move.from();
    if (from == null) {
      return isCreated(connection, move);
    }
    return move.stays()
        ? changed(connection, STAY, catalog, namespace(table), table.name(), from)
        : changed(connection, MOVE, move.to(), from, catalog, namespace(table), table.name(), from);
  }

  private boolean isCreated(Connection connection, MetadataMove move) throws SQLException {
    try {
      return changed(
          connection, CREATE, catalog, namespace(move.table()), move.table().name(), move.to());
    } catch (SQLException e) {
      boolean isThere =
          e.getErrorCode() == CONSTRAINT_OF_SQLITE
              || String.valueOf(e.getSQLState()).startsWith(CONSTRAINT);
      if (isThere) {
        return false;
      }
      throw e;
    }
  }

  private static String namespace(TableIdentifier table) {
    return String.join(".", table.namespace().levels());
  }

  private static boolean changed(Connection connection, String sql, String... values)
      throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(sql)) {
      set(statement, values);
      return statement.executeUpdate() == 1;
    }
  }

  private static void set(PreparedStatement statement, String... values) throws SQLException {
    for (int i = 0; i < values.length; i++) {
      statement.setString(i + 1, values[i]);
    }
  }
}
