import java.sql.Connection;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** What a program does with Hive's JDBC driver and nothing else. It prints what it reads, one line per row or error. */
final class JdbcClient {
  private static final String QUERY = "SELECT id, day, name, clicks FROM web.`user.profile` ";

  public static void main(String[] arguments) throws SQLException {
    try (Connection connection = DriverManager.getConnection(arguments[0], "somebody", "");
        Statement statement = connection.createStatement()) {
      statement.execute("CREATE SCHEMA IF NOT EXISTS web");
      statement.execute(
          "CREATE TABLE web.`user.profile` (id BIGINT, day DATE, name STRING, clicks INT, PRIMARY KEY (id, day))"
              + " USING keylake CLUSTERED BY (id) INTO 2 BUCKETS");
      insert(connection, 1, "2026-11-01", "Zoë \"the\" O'Neill", 5);
      insert(connection, 2, "2026-11-01", null, 7);
      statement.execute(
          "MERGE INTO web.`user.profile` t USING (SELECT 2L AS id, DATE '2026-11-01' AS day, 'two' AS name, 8 AS clicks"
              + " UNION ALL SELECT 3L, DATE '2026-11-02', 'three', 9) s ON t.id = s.id AND t.day = s.day"
              + " WHEN MATCHED THEN UPDATE SET name = s.name WHEN NOT MATCHED THEN INSERT *");
      print(statement.executeQuery(QUERY + "ORDER BY id"));
      update(connection);
      print(statement.executeQuery(QUERY + "ORDER BY id"));
      select(connection, 1, "2026-11-01");
      select(connection, 99, "2026-11-01");
      for (String wrong :
          new String[] {
            "SELECT * FROM web.nothing",
            "UPDATE web.`user.profile` SET id = 5",
            "INSERT INTO web.`user.profile` VALUES (4, NULL, 'x', 1)",
            "INSERT INTO web.`user.profile` SELECT id, DATE '2026-11-03', 'x', IF(id = 3, 'many', 1) FROM range(5)",
            "CREATE TABLE web.bad (score DOUBLE PRIMARY KEY) USING keylake",
            "MERGE INTO web.`user.profile` t USING (SELECT explode(array(1L, 1L)) AS id) s ON t.id = s.id"
                + " WHEN MATCHED THEN UPDATE SET clicks = 0",
          }) {
        fail(statement, wrong);
      }
      print(statement.executeQuery(QUERY + "ORDER BY id"));
    }
  }

  private static void insert(Connection connection, long id, String day, String name, int clicks) throws SQLException {
    String insert = "INSERT INTO web.`user.profile` (id, day, name, clicks) VALUES (?, CAST(? AS DATE), ?, ?)";
    try (PreparedStatement prepared = connection.prepareStatement(insert)) {
      prepared.setLong(1, id);
      prepared.setDate(2, Date.valueOf(day));
      if (name == null) {
        prepared.setNull(3, java.sql.Types.VARCHAR);
      } else {
        prepared.setString(3, name);
      }
      prepared.setInt(4, clicks);
      prepared.execute();
    }
  }

  private static void update(Connection connection) throws SQLException {
    String update = "UPDATE web.`user.profile` SET clicks = clicks + ? WHERE name = ?";
    try (PreparedStatement prepared = connection.prepareStatement(update)) {
      prepared.setInt(1, 100);
      prepared.setString(2, "two");
      prepared.execute();
    }
  }

  private static void select(Connection connection, long id, String day) throws SQLException {
    try (PreparedStatement prepared = connection.prepareStatement(QUERY + "WHERE id = ? AND day = CAST(? AS DATE)")) {
      prepared.setLong(1, id);
      prepared.setDate(2, Date.valueOf(day));
      print(prepared.executeQuery());
    }
  }

  private static void fail(Statement statement, String wrong) {
    try {
      statement.execute(wrong);
      System.out.println("no error: " + wrong);
    } catch (SQLException error) {
      System.out.println(error.getSQLState() + " " + error.getMessage().replace("\n", "\\n"));
    }
  }

  private static void print(ResultSet rows) throws SQLException {
    StringBuilder line = new StringBuilder();
    while (rows.next()) {
      for (int column = 1; column <= rows.getMetaData().getColumnCount(); column++) {
        line.append(column == 1 ? "" : ", ").append(rows.getObject(column));
      }
      line.append("; ");
    }
    System.out.println(line);
  }
}
