"""Plain tables that another engine upserts into, taken over into keyed tables while it goes on."""

import random
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from deletes.foreign_table import File, ForeignTable, ForeignWriter, foreign_table, foreign_writer
from integration.random_runs import FIRST, of_every
from integration.raw import catalog_of
from integration.refusals import refused
from integration.twin import fresh_name

SHAPES = {
    "one number": ("id BIGINT NOT NULL, part INT, v STRING", ["id"], []),
    "a text and a partition": ("id STRING NOT NULL, part INT NOT NULL, v STRING", ["id", "part"], ["part"]),
}


@pytest.fixture(scope="module")
def writer(lake: kl.Lake) -> Iterator[ForeignWriter]:
    with foreign_writer(lake) as writer:
        yield writer


class Upserts:
    """An upsert sink: what it writes, and which row of a key must be there."""

    def __init__(self, table: ForeignTable, key: list[str], seed: int) -> None:
        self.table = table
        self.key = key
        self.random = random.Random(seed)
        self.rows: dict[tuple[Any, ...], dict[str, Any]] = {}
        self.is_text = table.lake.spark.table(table.sql).schema["id"].dataType.simpleString() == "string"
        said = ", ".join(key)
        table.lake.spark.sql(f"ALTER TABLE {table.sql} SET IDENTIFIER FIELDS {said}").collect()

    def keyed(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name in self.key)

    def draw(self, part: int) -> list[dict[str, Any]]:
        numbers = self.random.sample(range(part, 30, 2), 5)
        return [
            {"id": f"k{number}" if self.is_text else number, "part": part, "v": f"v{self.random.randrange(99)}"}
            for number in numbers
        ]

    def commit(self) -> None:
        files = []
        for part in self.random.sample([0, 1], self.random.choice([1, 2])):
            drawn = self.draw(part)
            written, deleted = drawn[:4], drawn[4:]
            files += [File(drawn, self.key), File(written)]
            for row in deleted:
                self.rows.pop(self.keyed(row), None)
            self.rows |= {self.keyed(row): row for row in written}
        self.table.commit(*files)

    def delete(self) -> None:
        """By another engine still: positions in older files, or other files in their place."""
        value = f"v{self.random.randrange(99)}"
        self.table.lake.spark.sql(f"DELETE FROM {self.table.sql} WHERE v < '{value}'").collect()
        self.rows = {key: row for key, row in self.rows.items() if row["v"] >= value}

    def apply(self) -> None:
        """Positions in the place of equality deletes, which change no row."""
        self.table.lake.apply_equality_deletes(self.table.name)

    def compact(self) -> None:
        """Iceberg's own rewrite, which changes no row."""
        options = "options => map('rewrite-all', 'true')"
        call = f"CALL {self.table.lake.catalog}.system.rewrite_data_files(table => '{self.table.name}', {options})"
        self.table.lake.spark.sql(call).collect()


@pytest.mark.slow
@of_every("version", {"version 2": 2, "version 3": 3}, today=1)
@of_every("shape", SHAPES, today=1)
def test_a_table_is_followed(
    lake: kl.Lake, writer: ForeignWriter, shape: tuple[str, list[str], list[str]], version: int
) -> None:
    columns, key, partition = shape
    mode = random.Random(FIRST).choice(["merge-on-read", "copy-on-write"])
    with foreign_table(lake, writer, columns, partition, version, write_delete_mode=mode) as table:
        source = Upserts(table, key, FIRST + version)
        into = fresh_name("adopted")
        for _ in range(3):
            source.commit()
        table.alter("ADD COLUMN w INT")  # which no commit has yet
        assert lake.adopt(table.name, into=into, dry_run=True).is_new
        assert into not in {listed.name for listed in lake.tables()}
        first = lake.adopt(table.name, into=into, buckets=2)
        assert (first.commits, first.rows, first.is_new) == (1, len(source.rows), True)
        check(lake, into, source)
        for step in source.random.sample([source.commit, source.apply, source.delete, source.compact], 4):
            step()
        source.commit()
        source.apply()
        planned = lake.adopt(table.name, into=into, dry_run=True)
        before = len(lake.table(into).history())
        then = lake.adopt(table.name, into=into)
        assert (then.commits, then.snapshot_id, then.is_new) == (planned.commits, planned.snapshot_id, False)
        assert then.commits > len(lake.table(into).history()) - before  # which those without rows are not
        check(lake, into, source)
        assert lake.adopt(table.name, into=into) == kl.Adopted(0, 0, then.snapshot_id, is_new=False)


def check(lake: kl.Lake, into: str, source: Upserts) -> None:
    read = lake.table(into).read(columns=["id", "part", "v"]).collect()
    assert {source.keyed(row): row for row in (row.asDict() for row in read)} == source.rows


@pytest.mark.slow
def test_an_end_between_is_made_good(lake: kl.Lake, writer: ForeignWriter) -> None:
    """A commit may be there although the table does not know it: it is not written twice."""
    with foreign_table(lake, writer, *SHAPES["one number"][::2]) as table:
        source = Upserts(table, ["id"], FIRST)
        source.commit()
        into = fresh_name("adopted")
        lake.adopt(table.name, into=into)
        before = catalog_of(lake).load_table(into).properties["keylake.adopts"]
        source.commit()
        lake.adopt(table.name, into=into)
        commits = len(lake.table(into).history())
        with catalog_of(lake).load_table(into).transaction() as change:
            change.set_properties({"keylake.adopts": before})
        source.commit()
        assert lake.adopt(table.name, into=into).commits == 2
        assert len(lake.table(into).history()) == commits + 1
        check(lake, into, source)


def test_what_cannot_be_adopted(lake: kl.Lake, writer: ForeignWriter) -> None:
    into = fresh_name("adopted")
    with foreign_table(lake, writer, "id BIGINT NOT NULL, part INT, v STRING") as table:
        with refused(lake, table.name, kl.DefinitionError, "has no identifier fields", "SET IDENTIFIER FIELDS"):
            lake.adopt(table.name, into=into)
        lake.spark.sql(f"ALTER TABLE {table.sql} SET IDENTIFIER FIELDS id").collect()
        table.commit(File([{"id": 1, "part": 1, "v": "x"}]))
        lake.adopt(table.name, into=into)
        with refused(lake, into, kl.DefinitionError, "Buckets is 3", "has 16 already"):
            lake.adopt(table.name, into=into, buckets=3)
        table.commit(File([{"id": 1, "part": 1, "v": "x"}], ["v"]))
        with refused(lake, into, kl.Unsupported, "deletes rows by (v), which is not its key"):
            lake.adopt(table.name, into=into)
        table.alter("ADD COLUMN w INT")
        with refused(lake, into, kl.SchemaMismatch, "has column 'w' of type int", "has no such column"):
            lake.adopt(table.name, into=into)
        with refused(lake, table.name, kl.TableExists, "was not made to adopt"):
            lake.adopt(table.name, into=table.name)
    with foreign_table(lake, writer, "id BIGINT NOT NULL, part INT", ["part"]) as table:
        lake.spark.sql(f"ALTER TABLE {table.sql} SET IDENTIFIER FIELDS id").collect()
        with refused(lake, table.name, kl.Unsupported, "is partitioned by 'part', which is no part of the key"):
            lake.adopt(table.name, into=fresh_name("adopted"))
    with pytest.raises(kl.Unsupported, match="is a keyed table already"):
        lake.adopt(into, into=fresh_name("adopted"))


@pytest.mark.slow
@pytest.mark.parametrize("is_empty", [True, False], ids=["from the beginning", "from a commit"])
def test_commits_that_have_expired(lake: kl.Lake, writer: ForeignWriter, is_empty: bool) -> None:
    """What came before them and was not taken over would be missing."""
    with foreign_table(lake, writer, *SHAPES["one number"][::2]) as table:
        source = Upserts(table, ["id"], FIRST)
        if not is_empty:
            source.commit()
        into = fresh_name("adopted")
        lake.adopt(table.name, into=into)
        for _ in range(3):
            source.commit()
        lake.spark.sql(
            f"CALL {lake.catalog}.system.expire_snapshots(table => '{table.name}', retain_last => 1, "
            "older_than => current_timestamp())"
        ).collect()
        with refused(lake, into, kl.SnapshotExpired, "has expired", "into a new table"):
            lake.adopt(table.name, into=into)
        again = fresh_name("adopted")
        lake.adopt(table.name, into=again)
        check(lake, again, source)


def test_a_foreign_commit_of_a_keyed_table_in_format_3(lake: kl.Lake, writer: ForeignWriter) -> None:
    """Files of that format have columns of Iceberg's own beside those of the table."""
    name = fresh_name("adopted")
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=name, key="id", buckets=1, versions="explicit"))
    table.upsert([{"id": 1, "a": 1}, {"id": 2, "a": 2}], version=10)
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{name} SET TBLPROPERTIES ('format-version' = '3')").collect()
    made = writer.commit(name, [File([{"id": 1, "a": 7}, {"id": 3, "a": 9}])])
    table.adopt_commit(made, rule="upsert", version=20)
    assert sorted((row.id, row.a) for row in table.read().collect()) == [(1, 7), (2, 2), (3, 9)]
