"""A database under random transactions, and what it holds, as a source gives it."""

import base64
import random
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from decimal import Decimal

import pymysql
from pymysql.cursors import DictCursor

from pipelines.mariadb.server import MariaDb

TABLES = {
    "orders": "id BIGINT UNSIGNED AUTO_INCREMENT PRIMARY KEY, city VARCHAR(20), paid DECIMAL(9, 2), n INT DEFAULT 3",
    "lines": "city VARCHAR(20), no INT, text TEXT, at DATETIME(3), PRIMARY KEY (city, no)",
    "marks": "id BINARY(6) PRIMARY KEY, n INT, city VARCHAR(20) CHARACTER SET latin1",
}
CITIES = ("Oslo", "oslo 2", "Åland", "a", "ab", "Zürich", "été", "")


def as_json(value: object) -> object:
    """A value of the driver's as a source gives it."""
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, datetime):
        return value.isoformat(timespec="milliseconds")
    return value


class Shop:
    """Tables with rows, and whoever changes them: every draw is a transaction or a statement."""

    def __init__(self, server: MariaDb, database: str, draw: random.Random, *, keeps_types: bool = False) -> None:
        self.server, self.database, self.draw = server, database, draw
        self.keeps_types = keeps_types  # of columns: a keyed table does not make a text of a number
        self._next = 0
        server.run(f"CREATE DATABASE {database}")
        self.connection = server.connect(database)
        for name, columns in TABLES.items():
            self.do(f"CREATE TABLE `{name}` ({columns})")

    def do(self, statement: str, values: Sequence[object] = ()) -> int:
        with self.connection.cursor() as cursor:
            return cursor.execute(statement, tuple(values) or None)

    def close(self) -> None:
        self.connection.close()

    def rows(self, table: str, key: Sequence[str]) -> list[dict[str, object]]:
        with closing(self.server.connect(self.database)) as connection, connection.cursor(DictCursor) as cursor:
            cursor.execute(f"SELECT * FROM `{table}`")
            found = [{name: as_json(value) for name, value in row.items()} for row in cursor.fetchall()]
        if table == "orders":  # BIGINT UNSIGNED has no place in JSON's numbers
            found = [{**row, "id": str(row["id"])} for row in found]
        return sorted(found, key=lambda row: [str(row[name]) for name in key])

    def fill(self, rows: int) -> None:
        for _ in range(rows):
            self._insert(self.draw.choice(list(TABLES)))

    def transaction(self) -> None:
        """Some changes of some tables at once; now and then many, or taken back."""
        self.connection.begin()
        try:
            for _ in range(self.draw.choice([1, 1, 2, 5, 60])):
                table = self.draw.choice(list(TABLES))
                self.draw.choice([self._insert, self._insert, self._update, self._update, self._delete, self._move])(
                    table
                )
            self.draw.choice([self.connection.commit] * 4 + [self.connection.rollback])()
        except pymysql.err.IntegrityError:
            self.connection.rollback()

    def _value(self, table: str) -> tuple[str, object]:
        draw = self.draw
        made: dict[str, list[tuple[str, Callable[[], object]]]] = {
            "orders": [
                ("city", lambda: draw.choice([None, *CITIES])),
                ("paid", lambda: draw.choice([None, Decimal(draw.randrange(-(10**9), 10**9)).scaleb(-2)])),
            ],
            "lines": [
                ("text", lambda: draw.choice([None, "x" * draw.randrange(400), 'a"b\\\n\t☃'])),
                ("at", lambda: draw.choice([None, datetime(2026, 3, draw.randrange(1, 28), 5, 6, 7, 891000)])),
            ],
            "marks": [
                ("n", lambda: draw.choice([None, draw.randrange(-(2**31), 2**31)])),
                ("city", lambda: draw.choice(CITIES[:4])),
            ],
        }
        name, value = draw.choice(made[table])
        return name, value()

    def _insert(self, table: str) -> None:
        name, value = self._value(table)
        self._next += 1
        if table == "orders":
            self.do(f"INSERT INTO orders ({name}) VALUES (%s)", [value])
        elif table == "lines":
            self.do(
                f"INSERT INTO `lines` (city, no, {name}) VALUES (%s, %s, %s)",
                [self.draw.choice(CITIES), self._next, value],
            )
        else:
            key = self.draw.randbytes(4) + self._next.to_bytes(2, "big")
            self.do(f"INSERT INTO marks (id, {name}) VALUES (%s, %s)", [key, value])

    def _some(self, table: str) -> str:
        self.draw_number = self.draw.randrange(1 << 30)
        return f"ORDER BY RAND({self.draw_number}) LIMIT {self.draw.choice([1, 1, 1, 30])}"

    def _update(self, table: str) -> None:
        name, value = self._value(table)
        self.do(f"UPDATE `{table}` SET {name} = %s {self._some(table)}", [value])

    def _delete(self, table: str) -> None:
        self.do(f"DELETE FROM `{table}` {self._some(table)}")

    def _move(self, table: str) -> None:
        """Rows get another key."""
        self._next += 1
        changes = {
            "orders": f"id = id + {1000 + self._next}",
            "lines": f"city = 'moved', no = no + {10_000 * self._next}",
            "marks": f"id = CONCAT(LEFT(id, 4), UNHEX('{self._next:04x}'))",
        }
        self.do(f"UPDATE `{table}` SET {changes[table]} ORDER BY RAND() LIMIT 1")

    # Statements on tables: each leaves the columns that the draws write.

    def statement(self) -> None:
        self._next += 1
        table = self.draw.choice(list(TABLES))
        added = f"c{self._next}"
        kept = self._added(table)
        choices: list[Callable[[], object]] = [
            lambda: self.do(f"ALTER TABLE `{table}` ADD COLUMN {added} INT"),
            lambda: self.do(
                f"ALTER TABLE `{table}` ADD COLUMN {added} INT NOT NULL DEFAULT 7 COMMENT 'it''s' FIRST, COMMENT 'x'"
            ),
            lambda: self.do(f"ALTER TABLE `{table}` ADD {added} VARCHAR(9) DEFAULT 'q' AFTER city, ADD INDEX (city)"),
            lambda: self._by_gh_ost(table, f"ADD COLUMN {added} VARCHAR(30) NOT NULL DEFAULT 'ghost'"),
            lambda: self._by_pt(table, f"ADD COLUMN {added} BIGINT DEFAULT 5"),
        ]
        if kept:
            old = self.draw.choice(kept)
            choices += [
                lambda: self.do(f"ALTER TABLE `{table}` DROP COLUMN `{old}`"),
                lambda: self.do(f"ALTER TABLE `{table}` RENAME COLUMN `{old}` TO {added}"),
                lambda: self._by_gh_ost(table, f"DROP COLUMN `{old}`"),
            ]
        if kept and not self.keeps_types:
            choices += [
                lambda: self.do(f"ALTER TABLE `{table}` CHANGE `{old}` {added} VARCHAR(50)"),
                lambda: self.do(f"ALTER TABLE `{table}` MODIFY `{old}` VARCHAR(60), ADD COLUMN {added} INT"),
            ]
        if self.draw.random() < 0.1:
            choices = [lambda: self.do(f"TRUNCATE TABLE `{table}`")]
        self.draw.choice(choices)()

    def _added(self, table: str) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(f"SHOW COLUMNS FROM `{table}`")
            return [name for name, *_ in cursor.fetchall() if name[0] == "c" and name[1:].isdigit()]

    def _columns(self, table: str) -> list[str]:
        with self.connection.cursor() as cursor:
            cursor.execute(f"SHOW COLUMNS FROM `{table}`")
            return [f"`{name}`" for name, *_ in cursor.fetchall()]

    def _by_gh_ost(self, table: str, change: str) -> None:
        """What gh-ost does: a ghost like the table, rows copied in ranges, changes of its log, one atomic rename."""
        ghost, log, gone = f"`_{table}_gho`", f"`_{table}_ghc`", f"`_{table}_del`"
        here = f"`{self.database}`"
        self.do(f"drop /* gh-ost */ table if exists {here}.{ghost}")
        self.do(
            f"create /* gh-ost */ table {here}.{log} (id bigint unsigned auto_increment, last_update timestamp not null"
            " DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP, hint varchar(64) charset ascii not null,"
            " value varchar(4096) charset ascii not null, primary key(id), unique key hint_uidx(hint))"
            " auto_increment=256"
        )
        self.do(
            f"insert /* gh-ost */ into {here}.{log} (id, hint, value)"
            " values (NULLIF(1, 0), 'state', 'GhostTableMigrated')"
        )
        self.do(f"create /* gh-ost */ table {here}.{ghost} like {here}.`{table}`")
        self.do(f"alter /* gh-ost */ table {here}.{ghost} {change}")
        self.transaction()
        shared = ", ".join(name for name in self._columns(table) if name in self._columns(f"_{table}_gho"))
        self.do(
            f"insert /* gh-ost {here}.`{table}` */ ignore into {here}.{ghost} ({shared})"
            f" (select {shared} from {here}.`{table}` lock in share mode)"
        )
        for _ in range(2):
            self.do(f"update `{table}` set city = city where city = 'a'")
        self.do(f"replace /* gh-ost */ into {here}.{ghost} ({shared}) select {shared} from {here}.`{table}`")
        self.do(f"rename /* gh-ost */ table {here}.`{table}` to {here}.{gone}, {here}.{ghost} to {here}.`{table}`")
        self.transaction()
        self.do(f"drop /* gh-ost */ table if exists {here}.{log}")
        self.do(f"drop /* gh-ost */ table if exists {here}.{gone}")

    def _by_pt(self, table: str, change: str) -> None:
        """What pt-online-schema-change does: a new table, triggers, rows copied, one atomic rename."""
        here = f"`{self.database}`"
        new, old = f"{here}.`_{table}_new`", f"{here}.`_{table}_old`"
        with self.connection.cursor() as cursor:
            cursor.execute(f"SHOW CREATE TABLE `{table}`")
            found = cursor.fetchone()
        assert found is not None
        self.do(found[1].replace(f"CREATE TABLE `{table}`", f"CREATE TABLE {new}", 1))
        self.do(f"ALTER TABLE {new} {change}")
        shared = self._columns(table)
        names = ", ".join(shared)
        values = ", ".join(f"NEW.{name}" for name in shared)
        key = {"orders": ["id"], "lines": ["city", "no"], "marks": ["id"]}[table]
        same = " AND ".join(f"{new}.`{name}` <=> OLD.`{name}`" for name in key)
        prefix = f"pt_osc_{self.database}_{table}"
        self.do(
            f"CREATE TRIGGER `{prefix}_del` AFTER DELETE ON {here}.`{table}` FOR EACH ROW"
            f" DELETE IGNORE FROM {new} WHERE {same}"
        )
        self.do(
            f"CREATE TRIGGER `{prefix}_upd` AFTER UPDATE ON {here}.`{table}` FOR EACH ROW BEGIN"
            f" DELETE IGNORE FROM {new} WHERE {same}; REPLACE INTO {new} ({names}) VALUES ({values}); END"
        )
        self.do(
            f"CREATE TRIGGER `{prefix}_ins` AFTER INSERT ON {here}.`{table}` FOR EACH ROW"
            f" REPLACE INTO {new} ({names}) VALUES ({values})"
        )
        self.transaction()
        self.do(
            f"INSERT LOW_PRIORITY IGNORE INTO {new} ({names})"
            f" SELECT {names} FROM {here}.`{table}` LOCK IN SHARE MODE /*pt-osc*/"
        )
        self.transaction()
        self.do(f"RENAME TABLE {here}.`{table}` TO {old}, {new} TO {here}.`{table}`")
        self.do(f"DROP TABLE IF EXISTS {old}")
        for each in ("del", "upd", "ins"):
            self.do(f"DROP TRIGGER IF EXISTS {here}.`{prefix}_{each}`")
        self.transaction()
