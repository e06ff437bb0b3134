"""Commits of other engines to a keyed table: by pyiceberg, and by Spark with a stock Iceberg catalog."""

import datetime
import random
import warnings
from collections.abc import Callable, Iterator

import pyarrow as pa
import pytest
from pyiceberg.table import Table
from pyspark.sql import SparkSession

import keylake as kl
from integration.random_runs import of_every
from integration.raw import catalog_of
from integration.refusals import refused, refused_in_sql
from integration.sessions import clone_of
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64()), pa.field("b", pa.string())])
Change, Rows = Callable[[SparkSession, Table, str], object], list[tuple[object, ...]]


@pytest.fixture(scope="module")
def stock(lake: kl.Lake) -> Iterator[SparkSession]:
    """A session of the same server in which the catalog is Iceberg's own."""
    with clone_of(lake, {f"spark.sql.catalog.{lake.catalog}": "org.apache.iceberg.spark.SparkCatalog"}) as session:
        yield session


def table_of(lake: kl.Lake, versions: kl.Versions = "explicit") -> kl.KeyedTable:
    """Four keys in one bucket, one of them updated, another deleted; three files."""
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("foreign"), key="id", buckets=1, versions=versions)
    table = lake.create(spec)
    word = {} if versions == "commit" else {"version": 10}
    table.upsert([{"id": key, "a": key, "b": "x"} for key in range(4)], **word)
    table.update([{"id": 1, "a": 100}], **word)
    table.delete([{"id": 3}], **word)
    return table


def rows(table: kl.KeyedTable) -> Rows:
    return sorted(tuple(row) for row in table.read().collect())


def arrow(*given: tuple[int, int]) -> pa.Table:
    return pa.Table.from_pylist([{"id": key, "a": value} for key, value in given], pa.schema(list(SCHEMA)[:2]))


def whole(table: Table, *given: tuple[int, int]) -> pa.Table:
    return pa.Table.from_pylist([{"id": key, "a": value} for key, value in given], schema=table.schema().as_arrow())


def in_pyiceberg(change: Callable[[Table], object]) -> Change:
    def run(stock: SparkSession, table: Table, name: str) -> object:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return change(table)

    return run


def in_stock(statement: str) -> Change:
    return lambda stock, table, name: stock.sql(statement.format(t=name, short=name.split(".", 1)[1])).collect()


def rewrite(**options: str) -> Change:
    listed = ", ".join(f"'{name.replace('_', '-')}', '{value}'" for name, value in options.items())
    return in_stock(f"CALL lake.system.rewrite_data_files(table => '{{short}}', options => map({listed}))")


APPENDS: dict[str, Change] = {
    "pyiceberg append": in_pyiceberg(lambda table: table.append(arrow((1, 7), (9, 9)))),
    "stock INSERT": in_stock("INSERT INTO {t} (id, a) VALUES (1, 7), (9, 9)"),
}
OTHERS: dict[str, Change] = {
    "pyiceberg delete": in_pyiceberg(lambda table: table.delete("id == 2")),
    "pyiceberg overwrite": in_pyiceberg(lambda table: table.overwrite(arrow((1, 7)))),
    "pyiceberg upsert": in_pyiceberg(lambda table: table.upsert(whole(table, (2, 7), (9, 9)))),
    "stock DELETE": in_stock("DELETE FROM {t} WHERE id = 2"),
    "stock MERGE": in_stock(
        "MERGE INTO {t} USING (SELECT 2L AS id, 7L AS a) s ON {t}.id = s.id WHEN MATCHED THEN UPDATE SET a = s.a"
    ),
    "stock rewrite": rewrite(min_input_files="2"),
    "stock rewrite of all": rewrite(rewrite_all="true"),
    "stock rewrite with new numbers": rewrite(rewrite_all="true", use_starting_sequence_number="false"),
    "stock rewrite by parts": rewrite(rewrite_all="true", **{"partial-progress.enabled": "true"}),
    "stock rewrite by sorting": in_stock(
        "CALL lake.system.rewrite_data_files(table => '{short}', strategy => 'sort', "
        "options => map('rewrite-all', 'true'))"
    ),
}


def change(lake: kl.Lake, stock: SparkSession, table: kl.KeyedTable, by: Change) -> kl.CommitInfo:
    """The foreign commit."""
    before = table.history()[0].snapshot_id
    by(stock, catalog_of(lake).load_table(table.name), f"{lake.catalog}.{table.name}")
    made = table.history()[0]
    assert made.verb is None
    assert made.snapshot_id != before
    return made


def assert_refused(lake: kl.Lake, table: kl.KeyedTable, words: tuple[str, ...]) -> None:
    with refused_in_sql(lake, table.name, "FOREIGN_COMMIT", *words):
        rows(table)
    with refused(lake, table.name, kl.ForeignCommit, *words):
        table.get(id=1)
    with refused(lake, table.name, kl.ForeignCommit, *words):
        table.upsert([{"id": 1, "a": 1, "b": "y"}], **_version(table))
    with refused(lake, table.name, kl.ForeignCommit, *words):
        table.compact("full")


def _version(table: kl.KeyedTable) -> dict[str, int]:
    return {"version": 20} if table.spec.versions == "explicit" else {}


@pytest.mark.slow
@of_every("name", {name: name for name in (*APPENDS, *OTHERS)}, today=4)
def test_a_foreign_commit_is_named_and_rolled_back(lake: kl.Lake, stock: SparkSession, name: str) -> None:
    table = table_of(lake)
    before, good = rows(table), table.history()[0].snapshot_id
    made = change(lake, stock, table, (APPENDS | OTHERS)[name])
    engine = "spark" if name.startswith("stock") else "another engine"
    assert_refused(lake, table, (str(made.snapshot_id), engine, f"roll back to commit {good}"))
    if name in OTHERS:
        with refused(lake, table.name, kl.Unsupported, "only appended files", f"roll back to commit {good}"):
            table.adopt_commit(made, rule="upsert", version=20)
    table.rollback(to=good)
    assert rows(table) == before
    table.update([{"id": 2, "a": 5}], version=20)
    table.compact("full")
    assert rows(table) == [(0, 0, "x"), (1, 100, "x"), (2, 5, "x")]


@pytest.mark.slow
def test_every_verb_notices(lake: kl.Lake, stock: SparkSession) -> None:
    table = table_of(lake)
    draft = table.branch("tmp_draft")
    draft.update([{"id": 0, "a": 50}], version=20)
    good = table.history()[0]
    made = change(lake, stock, table, APPENDS["stock INSERT"])
    assert table.check("pages").is_ok  # a foreign file is no damage
    word = f"ommit {made.snapshot_id}"
    verbs: list[Callable[[], object]] = [
        lambda: table.update([{"id": 1, "a": 1}], version=20),
        lambda: table.delete([{"id": 1}], version=20),
        lambda: table.overwrite([{"id": 1, "a": 1, "b": "y"}], version=20),
        lambda: table.compact("settle"),
        table.compaction_plan,
        table.refresh_merged,
        lambda: table.changes(after=good),
        table.changes,
        lambda: table.appended(after=good),
        lambda: table.undo(after=good),
        lambda: table.undo_plan(after=good),
        lambda: table.rollback(to=made),
        lambda: table.archive(datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)),
        lambda: table.branch("tmp_later").update([{"id": 1, "a": 1}], version=20),
        lambda: table.cherry_pick(draft),
        lambda: draft.cherry_pick(table),
        draft.publish,
    ]
    for verb in verbs:
        with refused(lake, table.name, kl.ForeignCommit, word):
            verb()
    name = f"{lake.catalog}.{table.name}"
    for part in ("keyed_files", "runs", "sections"):
        with refused_in_sql(lake, table.name, "FOREIGN_COMMIT", word):
            lake.spark.sql(f"SELECT * FROM {name}.{part}").collect()
    for statement in (f"SELECT count(*) FROM {name}", f"SELECT * FROM {name} a JOIN {name} b USING (id)"):
        with refused_in_sql(lake, table.name, "FOREIGN_COMMIT", word):
            lake.spark.sql(statement).collect()
    assert {row["name"] for row in lake.spark.sql(f"SELECT * FROM {name}.branches").collect()} >= {"main", "tmp_draft"}
    assert table.read(at=good).count() == 3, "states before it are read as ever"
    assert draft.read().count() == 3, "and so are other branches"
    table.rollback(to=good)
    assert draft.publish().commits == 1


@pytest.mark.slow
@pytest.mark.parametrize("name", APPENDS)
def test_an_adopted_append_is_an_upsert(lake: kl.Lake, stock: SparkSession, name: str) -> None:
    table = table_of(lake)
    good = table.history()[0]
    made = change(lake, stock, table, APPENDS[name])
    with refused(lake, table.name, kl.VersionMissing, "version"):
        table.adopt_commit(made, rule="upsert")
    with refused(lake, table.name, kl.TableNotFound, str(good.snapshot_id), str(made.snapshot_id)):
        table.adopt_commit(good, rule="upsert", version=20)
    with refused(lake, table.name, kl.DefinitionError, "'guess'", "'upsert'"):
        table.adopt_commit(made, rule="guess", version=20)  # type: ignore[arg-type]
    adopted = table.adopt_commit(made, rule="upsert", version=20)
    assert (adopted.verb, adopted.rows, adopted.versions) == ("adopt", 2, (20, 20))
    after = [(0, 0, "x"), (1, 7, None), (2, 2, "x"), (9, 9, None)]
    assert rows(table) == after
    changed = {(row["id"], row["_change"], row["_commit"]) for row in table.changes(after=good).collect()}
    assert changed == {(1, "update", adopted.snapshot_id), (9, "insert", adopted.snapshot_id)}
    written = sorted((row["id"], row["a"]) for row in table.appended(after=good).collect())
    assert written == [(1, 7), (9, 9)]
    looked = {each.at: each.reads is not None for each in table.health().over_time}
    assert looked == {each.committed_at: each.verb is not None for each in table.history()}
    table.compact("full")
    assert rows(table) == after
    table.undo(after=good, until=adopted)
    assert rows(table) == [(0, 0, "x"), (1, 100, "x"), (2, 2, "x")]


def test_an_adoption_on_a_branch_is_published(lake: kl.Lake, stock: SparkSession) -> None:
    table = table_of(lake)
    draft = table.branch("tmp_draft")
    stock.sql(f"INSERT INTO {lake.catalog}.{table.name}.branch_tmp_draft (id, a) VALUES (1, 7)").collect()
    draft.adopt_commit(draft.history()[0], rule="upsert", version=20)
    table.update([{"id": 2, "a": 5}], version=20)
    assert draft.publish().commits == 1
    assert rows(table) == [(0, 0, "x"), (1, 7, None), (2, 5, "x")]


@pytest.mark.slow
@pytest.mark.parametrize("versions", ["explicit", "commit"])
@pytest.mark.parametrize("seed", [1, 2])
def test_random_appends_are_adopted_as_upserts(lake: kl.Lake, versions: kl.Versions, seed: int) -> None:
    table = table_of(lake, versions)
    expected = {row[0]: row[1:] for row in rows(table)}
    chosen = random.Random(seed)
    commits = []
    for _ in range(2):
        given = [(chosen.randrange(12), chosen.randrange(1000)) for _ in range(chosen.randrange(1, 30))]
        commits.append((given, change(lake, None, table, in_pyiceberg(lambda each, g=given: each.append(arrow(*g))))))  # type: ignore[arg-type, misc]
    for number, (given, made) in enumerate(commits):
        version = 10 + number if versions == "explicit" else None
        table.adopt_commit(made, rule="upsert", version=version)
        expected |= {key: (value, None) for key, value in given}
    assert rows(table) == sorted((key, *values) for key, values in expected.items())
    table.compact("full")
    assert rows(table) == sorted((key, *values) for key, values in expected.items())


@pytest.mark.slow
def test_rows_with_hidden_values_or_without_a_key_are_not_adopted(lake: kl.Lake, stock: SparkSession) -> None:
    table = table_of(lake)
    good = table.history()[0]
    made = change(lake, stock, table, in_stock("INSERT INTO {t} SELECT * FROM {t}"))
    with refused(lake, table.name, kl.Unsupported, "_merge_info", "roll back"):
        table.adopt_commit(made, rule="upsert", version=20)
    table.rollback(to=good)
    name = f"{lake.catalog}.{table.name}"
    stock.sql(f"ALTER TABLE {name} DROP IDENTIFIER FIELDS id").collect()
    stock.sql(f"ALTER TABLE {name} ALTER COLUMN id DROP NOT NULL").collect()
    made = change(lake, stock, table, in_stock("INSERT INTO {t} (id, a) VALUES (NULL, 1)"))
    with refused(lake, table.name, kl.BadRows, "'id'", "null", "roll back"):
        table.adopt_commit(made, rule="upsert", version=20)


@pytest.mark.slow
def test_commits_of_metadata_are_harmless(lake: kl.Lake, stock: SparkSession) -> None:
    table = table_of(lake)
    before = rows(table)
    good = table.history()[0]
    short, name = table.name, f"{lake.catalog}.{table.name}"
    for statement in (
        f"ALTER TABLE {name} SET TBLPROPERTIES ('team' = 'growth')",
        f"CALL lake.system.rewrite_manifests(table => '{short}')",
        f"CALL lake.system.compute_partition_stats(table => '{short}')",
    ):
        stock.sql(statement).collect()
        assert rows(table) == before, statement
    assert table.changes(after=good).count() == 0
    table.update([{"id": 2, "a": 5}], version=20)
    assert [row["id"] for row in table.changes(after=good).collect()] == [2]
    table.compact("full")
    stock.sql(f"CALL lake.system.rewrite_manifests(table => '{short}', use_caching => false)").collect()
    _expire(stock, short)
    assert rows(table) == [(0, 0, "x"), (1, 100, "x"), (2, 5, "x")]
    table.update([{"id": 2, "a": 6}], version=30)
    assert rows(table) == [(0, 0, "x"), (1, 100, "x"), (2, 6, "x")]


def _expire(stock: SparkSession, name: str) -> None:
    stock.sql(
        f"CALL lake.system.expire_snapshots(table => '{name}', older_than => TIMESTAMP '2100-01-01 00:00:00', "
        "retain_last => 1)"
    ).collect()


@pytest.mark.slow
def test_a_foreign_file_is_noticed_after_its_commit_has_expired(lake: kl.Lake, stock: SparkSession) -> None:
    table = table_of(lake)
    change(lake, stock, table, APPENDS["stock INSERT"])
    stock.sql(f"CALL lake.system.rewrite_manifests(table => '{table.name}')").collect()
    _expire(stock, table.name)
    head = table.history(compactions=True)
    assert len(head) == 1
    assert_refused(lake, table, ("has expired", "not written by keylake", str(head[0].snapshot_id)))
    table.adopt_commit(head[0], rule="upsert", version=20)
    assert rows(table) == [(0, 0, "x"), (1, 7, None), (2, 2, "x"), (9, 9, None)]
