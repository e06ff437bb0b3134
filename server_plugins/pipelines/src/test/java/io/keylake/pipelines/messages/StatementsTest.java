package io.keylake.pipelines.messages;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.keylake.pipelines.encodings.BadMessage;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class StatementsTest {
  @ParameterizedTest
  @ValueSource(
      strings = {
        "TRUNCATE a",
        "truncate table `shop`.`a`",
        "/* ApplicationName=DBeaver 24 */ TRUNCATE TABLE a",
        "-- tidy\nDROP TABLE a",
        "# tidy\nDROP TABLE a",
        "/*!50003 DROP TABLE a */",
        "/*M! DROP TABLE a */",
        "/* Move it */ DROP DATABASE shop",
        "DROP TABLE IF EXISTS \"a\" PURGE",
        "RENAME TABLE a TO b",
        "ALTER TABLE a RENAME b",
        "ALTER TABLE a RENAME TO b",
        "ALTER TABLE a ADD x INT, RENAME TO b",
        "ALTER IGNORE TABLE a RENAME AS b",
        "ALTER TABLE `a b` RENAME `rename column`",
        "ALTER TABLE a TRUNCATE PARTITION p",
        "ALTER TABLE a DROP PARTITION p, q",
        "ALTER TABLE a EXCHANGE PARTITION p WITH TABLE b",
        "ALTER TABLE a DETACH PARTITION b",
        "CREATE OR REPLACE TABLE a (id INT)",
      })
  void rowsAreGoneOrHaveAnotherTable(String statement) {
    assertThrows(BadMessage.class, () -> Statements.check(statement));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "ALTER TABLE a ADD COLUMN b INT COMMENT 'rename to it'",
        "ALTER TABLE a RENAME COLUMN b TO c",
        "ALTER TABLE a RENAME INDEX b TO c, RENAME KEY d TO e",
        "ALTER TABLE `drop table` ADD b INT",
        "CREATE TABLE a (b INT) /* DROP TABLE a */",
        "DROP TEMPORARY TABLE a",
        "DROP INDEX a ON b",
        "-- DROP TABLE a",
        "CREATE TABLE truncated (id INT)",
      })
  void whatRowsTellIsPassedOver(String statement) {
    assertDoesNotThrow(() -> Statements.check(statement));
  }
}
