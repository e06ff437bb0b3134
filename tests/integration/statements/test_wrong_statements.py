"""Wrong statements, on a table whose names need quotes: an error condition with its SQLSTATE, and a table as it was."""

import re

import pytest

import keylake as kl
from integration.random_runs import of_every
from integration.twin import fresh_name

# Spark's own conditions where Spark finds it, ours elsewhere.
WRONG = {
    "UPDATE {t} SET nobody = 1": "UNRESOLVED_COLUMN",
    "UPDATE {t} SET `select` = 1": "KEYLAKE_UNSUPPORTED",
    "UPDATE {t} SET `from` = 'x'": "KEYLAKE_BAD_ROWS",
    "UPDATE {t} SET total = 1": "KEYLAKE_UNSUPPORTED",
    "UPDATE {t} SET `from` = 1, `FROM` = 2": "KEYLAKE_UNSUPPORTED",
    "UPDATE {t} SET `it's` = 5": "KEYLAKE_BAD_ROWS",
    "UPDATE {t} SET s.nobody = 1": "FIELD_NOT_FOUND",
    "UPDATE {t} SET `a.b` = 1": "UNRESOLVED_COLUMN",
    "UPDATE {t} SET `from` = sum(`from`)": "",
    "UPDATE {t} SET `from` = (SELECT id FROM range(2))": "",
    "UPDATE {t} SET `from` = 1 WHERE nobody = 1": "UNRESOLVED_COLUMN",
    "UPDATE {t} SET `from` = 1 WHERE `it's`": "DATATYPE_MISMATCH",
    "UPDATE {t} SET": "PARSE_SYNTAX_ERROR",
    "UPDATE {t}_missing SET `from` = 1": "TABLE_OR_VIEW_NOT_FOUND",
    "UPDATE {t}.keyed_files SET path = 'x'": "",
    "DELETE FROM {t} WHERE nobody = 1": "UNRESOLVED_COLUMN",
    "DELETE FROM {t} WHERE `select` = 'x'": "CAST_INVALID_INPUT",
    "DELETE FROM {t} WHERE `from`": "DATATYPE_MISMATCH",
    "DELETE {t}": "PARSE_SYNTAX_ERROR",
    "MERGE INTO {t} t USING nobody s ON true WHEN MATCHED THEN DELETE": "TABLE_OR_VIEW_NOT_FOUND",
    "MERGE INTO {t} t USING {one} s ON t.nobody = s.k WHEN MATCHED THEN DELETE": "UNRESOLVED_COLUMN",
    "MERGE INTO {t} t USING {one} s {on} WHEN MATCHED THEN UPDATE SET `select` = 9": "KEYLAKE_UNSUPPORTED",
    "MERGE INTO {t} t USING {one} s {on} WHEN MATCHED THEN UPDATE SET total = 9": "KEYLAKE_UNSUPPORTED",
    "MERGE INTO {t} t USING {one} s {on} WHEN MATCHED THEN UPDATE SET *": "UNRESOLVED_COLUMN",
    "MERGE INTO {t} t USING {one} s {on} WHEN NOT MATCHED THEN INSERT (`from`) VALUES (1)": ("KEYLAKE_SCHEMA_MISMATCH"),
    "MERGE INTO {t} t USING {one} s ON rand() > 0 WHEN MATCHED THEN DELETE": "",
    "MERGE INTO {t} t USING {two} s {on} WHEN MATCHED THEN UPDATE SET `from` = 9": ("MERGE_CARDINALITY_VIOLATION"),
    "MERGE INTO {t} t USING {one} s {on}": "",
    "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING nobody s {on} WHEN MATCHED THEN UPDATE SET *": (
        "TABLE_OR_VIEW_NOT_FOUND"
    ),
    "MERGE WITH SCHEMA EVOLUTION INTO {t} t USING (SELECT nobody FROM {one} s) s {on} WHEN MATCHED THEN UPDATE SET *": (
        "UNRESOLVED_COLUMN"
    ),
    "INSERT INTO {t} (nobody) VALUES (1)": "",
    "INSERT INTO {t} (`from`) VALUES (1)": "KEYLAKE_SCHEMA_MISMATCH",
    "INSERT INTO {t} (`select`, `select`) VALUES (1, 1)": "",
    "INSERT INTO {t} VALUES (1)": "",
    "INSERT INTO {t} (`select`, `from`) VALUES (NULL, 1)": "KEYLAKE_BAD_ROWS",
    "ALTER TABLE {t} ADD COLUMN `from` INT": "FIELD_ALREADY_EXISTS",
    'ALTER TABLE {t} ADD COLUMN `it``s. a "b"` INT NOT NULL': "KEYLAKE_DEFINITION",
    "ALTER TABLE {t} DROP COLUMN `select`": "KEYLAKE_DEFINITION",
    "ALTER TABLE {t} DROP COLUMN nobody": "UNRESOLVED_COLUMN",
    "ALTER TABLE {t} ADD CONSTRAINT positive CHECK (`from` > 0)": "KEYLAKE_UNSUPPORTED",
    "ALTER TABLE {t} CLUSTER BY (`from`)": "KEYLAKE_UNSUPPORTED",
    "ALTER TABLE {t} SET TBLPROPERTIES ('write.format.default' = 'orc')": "KEYLAKE_DEFINITION",
    "ALTER TABLE {t} RENAME COLUMN `from` TO `it's`": "FIELD_ALREADY_EXISTS",
    "ALTER TABLE {t} ALTER COLUMN `from` TYPE STRING": "",
    "ALTER TABLE {t} ALTER COLUMN `from` SET DEFAULT 'x'": "",
    "ALTER TABLE {t} ALTER COLUMN `from` AFTER nobody": "",
    "ALTER TABLE {t} SET TBLPROPERTIES ('keylake.spec' = '')": "KEYLAKE_UNSUPPORTED",
    "ALTER TABLE {t} SET TBLPROPERTIES ('keylake.nobody' = '')": "KEYLAKE_DEFINITION",
    "ALTER TABLE {t} SET TBLPROPERTIES ('key' = 'from')": "KEYLAKE_UNSUPPORTED",
    "ALTER TABLE {t} SET TBLPROPERTIES ('write.merge.isolation-level' = '''')": "KEYLAKE_DEFINITION",
    "ALTER TABLE {t} SET IDENTIFIER FIELDS `from`": "KEYLAKE_UNSUPPORTED",
    "CREATE TABLE {t} (a INT PRIMARY KEY) USING keylake": "TABLE_OR_VIEW_ALREADY_EXISTS",
    "CREATE TABLE {t}_new (a INT, a INT, PRIMARY KEY (a)) USING keylake": "COLUMN_ALREADY_EXISTS",
    "CREATE TABLE {t}_new (`it's` DOUBLE PRIMARY KEY) USING keylake": "KEYLAKE_DEFINITION",
    "CREATE TABLE {t}_new (a INT, PRIMARY KEY (`no``body`)) USING keylake": "",
    "CREATE TABLE {t}_new (a INT, _bucket INT, PRIMARY KEY (a)) USING keylake": "KEYLAKE_DEFINITION",
    "CREATE TABLE {t}_new (a INT, b INT DEFAULT 'x', PRIMARY KEY (a)) USING keylake": "INVALID_DEFAULT_VALUE",
    "CREATE TABLE {t}_new (a INT, CHECK (a > 0)) USING iceberg": "KEYLAKE_DEFINITION",
    "CREATE TABLE {t}_new USING keylake TBLPROPERTIES ('key' = '`') AS SELECT 1 AS a": "KEYLAKE_DEFINITION",
    "REPLACE TABLE {t}_new (a INT PRIMARY KEY) USING keylake": "TABLE_OR_VIEW_NOT_FOUND",
    "CREATE OR REPLACE TABLE {t} (a INT) USING keylake": "KEYLAKE_DEFINITION",
    "TRUNCATE TABLE {t}_missing": "TABLE_OR_VIEW_NOT_FOUND",
}
SOURCES = {
    "on": "ON t.`select` = s.k",
    "one": "(SELECT 1 AS k)",
    "two": "(SELECT 1 AS k UNION ALL SELECT 1)",
}


@pytest.fixture(scope="module")
def table(lake: kl.Lake) -> tuple[str, str]:
    """The name of a table for SQL, and for the SDK."""
    namespace = fresh_name("wrong").replace(".", "_")
    quoted = f'`{lake.catalog}`.`{namespace}`.`it\'s a ``select`` "from"`'
    lake.spark.sql(f"CREATE NAMESPACE `{lake.catalog}`.`{namespace}`").collect()
    lake.spark.sql(
        f"CREATE TABLE {quoted} (`select` INT, `from` INT, `it's` STRING, s STRUCT<x: INT>, total INT, "
        "PRIMARY KEY (`select`)) USING keylake TBLPROPERTIES ('versions' = 'commit', 'reduce.total' = 'Sum')"
    ).collect()
    lake.spark.sql(f"INSERT INTO {quoted} VALUES (1, 10, 'x', NULL, 1), (2, 20, 'y', NULL, 1)").collect()
    return quoted, f'{namespace}.it\'s a `select` "from"'


@of_every("kind", ["UPDATE", "DELETE", "MERGE", "INSERT", "ALTER", "CREATE", "REPLACE", "TRUNCATE"], today=4)
def test_a_wrong_statement(lake: kl.Lake, table: tuple[str, str], kind: str) -> None:
    quoted, _ = table
    before = state(lake, quoted)
    for statement, condition in WRONG.items():
        if not statement.startswith(kind):
            continue
        said = statement.replace("{t}_", quoted[:-1] + "_").replace("{t}", quoted)
        said = re.sub(r"(_new|_missing)\b", r"\1`", said, count=1) if "{t}_" in statement else said
        for name, source in SOURCES.items():
            said = said.replace("{" + name + "}", source)
        with pytest.raises(Exception) as raised:  # noqa: PT011 - the text is looked at below
            lake.spark.sql(said).collect()
        text = str(raised.value)
        assert re.search(rf"\[{condition}[A-Z_.]*\]", text), f"{said}\n{text}"
        assert re.search(r"SQLSTATE: \w{5}", text), f"{said}\n{text}"
        assert kind != "MERGE" or "_merge_info" not in text, f"{said}\n{text}"  # a filter of ours
        assert state(lake, quoted) == before, said


def state(lake: kl.Lake, quoted: str) -> object:
    """What a statement that failed leaves as it was."""
    shown = lake.spark.sql(f"SHOW CREATE TABLE {quoted}").collect()
    commits = lake.spark.sql(f"SELECT snapshot_id FROM {quoted}.snapshots").collect()
    tables = lake.spark.sql(f"SHOW TABLES IN {quoted.rsplit('.', 1)[0]}").collect()
    return shown, commits, tables, sorted(map(str, lake.spark.table(quoted).collect()))
