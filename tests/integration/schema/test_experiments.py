"""Experiments: columns of their own with files of their own, which main does not show."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import keylake as kl
import keylake.local
from integration.refusals import refused, refused_in_sql, snapshots
from integration.schema.evolving import Evolving, Rows
from keylake import Float64, Int64


@pytest.fixture
def made(lake: kl.Lake) -> Evolving:
    """A table of four rows, whose versions are given."""
    made = Evolving(
        lake,
        "id BIGINT, clicks BIGINT, score DOUBLE, PRIMARY KEY (id)",
        "'versions' = 'explicit'",
        "CLUSTERED BY (id) INTO 2 BUCKETS",
    )
    made.table.upsert([{"id": i, "clicks": i, "score": 0.5} for i in range(4)], version=1)
    return made


def rows(table: kl.KeyedTable, *experiments: str) -> Rows:
    found = table.read(experiments=experiments) if experiments else table.read()
    return sorted(tuple(row) for row in found.collect())


def files(table: kl.KeyedTable) -> list[Path]:
    """The data files of main, or those of an experiment."""
    return [Path(row.path.removeprefix("file:")) for row in table.files().select("path").collect()]


@contextmanager
def hidden(paths: list[Path]) -> Iterator[None]:
    """Files that nobody can open meanwhile."""
    for path in paths:
        path.rename(path.with_suffix(".away"))
    yield
    for path in paths:
        path.with_suffix(".away").rename(path)


@pytest.mark.slow
def test_main_does_not_show_what_experiments_write(lake: kl.Lake, made: Evolving) -> None:
    table = made.table
    before = files(table), snapshots(lake, made.name)
    b = table.experiment("ranker_b", add={"score_b": Float64}, drop=["score"])
    c = table.experiment("ranker_c", add={"score_c": Float64, "why": list[str]})
    assert b.spec.column_names == ("id", "clicks", "score_b")
    assert c.spec.column_names == ("id", "clicks", "score", "score_c", "why")
    b.update([{"id": 1, "score_b": 1.5}, {"id": 9, "score_b": 9.5}], version=2)
    c.upsert([{"id": 1, "score_c": 0.25, "why": ["new"]}], version=2)
    assert rows(table) == [(i, i, 0.5) for i in range(4)]
    assert table.get(id=9) is None
    assert files(table) == before[0], "rows of main are stored once"
    assert table.changes(after=before[1][-1]).count() == table.appended(after=before[1][-1]).count() == 0
    assert [commit.verb for commit in table.history()] == ["upsert"]
    assert [commit.verb for commit in b.history()] == ["update", "create_experiment"]
    assert [pq.read_schema(path).names for path in files(b)] == [["id", "score_b", "_merge_info"]] * len(files(b))
    assert rows(b) == [(0, 0, None), (1, 1, 1.5), (2, 2, None), (3, 3, None), (9, None, 9.5)]
    assert b.get(id=9).model_dump() == {"id": 9, "clicks": None, "score_b": 9.5}  # type: ignore[union-attr]
    assert rows(table, "ranker_b", "ranker_c") == rows(b, "ranker_c")
    assert rows(b, "ranker_c")[1] == (1, 1, 1.5, 0.25, ["new"])
    assert b.read(where="score_b > 5 OR clicks = 3", columns=["id"]).count() == 2
    assert b.read().count() == 5
    # A deletion in main hides older values of experiments, and so it does after it was merged.
    table.delete([{"id": 1}], version=2)
    table.update([{"id": 2, "clicks": 22}], version=3)
    table.delete([{"id": 1}], version=3)
    table.upsert([{"id": 1, "clicks": 11, "score": 0.75}], version=4)
    expected = [(0, 0, None), (1, 11, None), (2, 22, None), (3, 3, None), (9, None, 9.5)]
    for policy in (None, "full", "settle"):
        if policy is not None:
            table.compact(policy)
            b.compact(policy)
        assert rows(b) == expected
        assert [row[0] for row in rows(table)] == [0, 1, 2, 3]
    assert table.experiments() == (
        kl.Experiment("ranker_b", ("score_b",), ("score",)),
        kl.Experiment("ranker_c", ("score_c", "why"), ()),
    )
    assert table.experiment("ranker_b").spec == b.spec
    assert made.columns == ["id", "clicks", "score"]


@pytest.mark.slow
def test_drop_and_promote_open_no_data_file(lake: kl.Lake, made: Evolving) -> None:
    table = made.table
    b = table.experiment("b", add={"score_b": Float64}, drop=["score"])
    c = table.experiment("c", add={"score_c": Float64})
    d = table.experiment("d", add={"score_d": Float64})
    for version, value in ((5, 5.0), (2, 2.0), (7, 7.0)):
        b.update([{"id": i, "score_b": value} for i in (1, 2, 8)], version=version)
    c.update([{"id": 1, "score_c": 1.0}], version=1)
    d.update([{"id": 3, "score_d": 3.0}], version=3)
    table.delete([{"id": 2}], version=6)
    table.delete([{"id": 8}], version=9)
    of_main, of_b = files(table), files(b)
    every = [*of_main, *of_b, *files(c), *files(d)]
    both = rows(table, "b", "d")
    head = made.head
    with hidden(every):
        dropped = table.drop_experiment("c")
        promoted = b.promote()
    assert (dropped.columns, promoted.columns, promoted.dropped) == (("score_c",), ("score_b",), ("score",))
    table = made.table
    assert rows(table) == [(0, 0, 0.5, None), (1, 1, 0.5, 7.0), (2, None, None, 7.0), (3, 3, 0.5, None)]
    assert rows(table, "d") == [(*r[:2], *s[2:3], r[2], *r[3:]) for r, s in zip(both, rows(table), strict=True)]
    assert set(files(table)) == {*of_main, *of_b}
    assert table.changes(after=head).count() == 2, "rows that have got values"
    assert [each.name for each in table.experiments()] == ["d"]
    table.update([{"id": 1, "score_b": 0.0}], version=8)
    made.same_after_compaction()
    with refused(lake, made.name, kl.TableNotFound, "no experiment 'b'"):
        table.experiment("b")
    with refused(lake, made.name, kl.TableNotFound, "no experiment 'b'", "[d]"):
        b.update([{"id": 1, "score_b": 1.0}], version=9)
    # A name that is used again starts empty; earlier states of main never show what it was.
    again = table.experiment("c", add={"score_c": Int64})
    assert {row[-1] for row in rows(again)} == {None}
    assert table.read(at=head).columns == ["id", "clicks", "score"], "nor those that were promoted since"
    table.drop_experiment("c")
    table.clean(kl.RetentionPolicy(days=0))
    assert rows(made.table, "d")[3][-1] == 3.0


def test_the_past_of_main_has_the_columns_of_its_time(lake: kl.Lake, made: Evolving, warehouse: Path) -> None:
    """Between begin and promotion, main did not show the columns; the schema of Iceberg has them all along."""
    table = made.table
    b = table.experiment("b", add={"score_b": Float64})
    b.update([{"id": 1, "score_b": 1.5}], version=2)
    table.update([{"id": 1, "clicks": 7}], version=3)
    then = made.head
    lake.spark.sql(f"ALTER TABLE {made.sql} CREATE TAG then AS OF VERSION {then}").collect()
    made.run("ALTER TABLE {t} RENAME COLUMN clicks TO views")
    table.update([{"id": 1, "views": 8}], version=4)
    renamed = made.head
    b.promote()
    now = made.head
    for at, columns in ((then, ["clicks", "score"]), ("then", ["clicks", "score"]), (renamed, ["views", "score"])):
        assert table.read(at=at).columns == ["id", *columns]
        assert lake.spark.sql(f"SELECT * FROM {made.sql} VERSION AS OF {at!r}").columns == ["id", *columns]
        assert {cell.column for cell in table.explain_row({"id": 1}, at=at).columns} == set(columns)
        with keylake.local.open(warehouse) as opened:
            assert opened.table(made.name).read(at=at).to_arrow().column_names == ["id", *columns]
    assert table.read(at=then, where="id = 1").collect() == [(1, 7, 0.5)]
    table.publish_kv(warehouse.parent / f"kv-{then}", at=then, format="parquet")
    assert "score_b" not in (warehouse.parent / f"kv-{then}" / "manifest.json").read_text()
    shown = ["id", "views", "score", "score_b"]
    assert table.read(at=now).columns == table.read().columns == shown
    made.run("ALTER TABLE {t} DROP COLUMN score_b")
    assert table.read(at=then).columns == ["id", "clicks", "score"]
    assert table.read(at=now).columns == shown
    assert rows(made.table)[1] == (1, 8, 0.5)
    with keylake.local.open(warehouse) as opened:
        assert opened.table(made.name).read(at=now).to_arrow().column_names == shown
        assert opened.table(made.name).read().to_arrow().column_names == ["id", "views", "score"]


def test_all_write_at_once(lake: kl.Lake, made: Evolving) -> None:
    tables = [made.table, *(made.table.experiment(name, add={f"score_{name}": Float64}) for name in "bc")]

    def write(number: int) -> None:
        if number == 7:
            tables[1].promote()
            return
        table, column = tables[number % 2 * 2], ("clicks", "", "score_c")[number % 2 * 2]
        table.update([{"id": number, column: number}], version=2)

    tables[1].update([{"id": 0, "score_b": 0.5}], version=2)
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(write, range(8)))
    assert rows(made.table) == [
        (0, 0, 0.5, 0.5),
        (1, 1, 0.5, None),
        (2, 2, 0.5, None),
        (3, 3, 0.5, None),
        (4, 4, None, None),
        (6, 6, None, None),
    ]
    assert [row[-1] for row in rows(made.table, "c")] == [None, 1.0, None, 3.0, None, 5.0, None]
    samples = lake.spark.createDataFrame([(1,), (2,)], "id BIGINT")
    joined = kl.join(samples, [made.table.experiment("c")["clicks", "score_c"]], on=["id"])
    assert sorted(map(tuple, joined.collect())) == [(1, 1, 1.0), (2, 2, None)]
    made.run("ALTER TABLE {t} DROP BRANCH experiment_c")
    with refused(lake, made.name, kl.TableNotFound, "was dropped", "drop_experiment"):
        rows(made.table, "c")
    made.table.drop_experiment("c")
    assert made.columns == ["id", "clicks", "score", "score_b"]


@pytest.mark.slow
def test_experiments_in_sql(lake: kl.Lake) -> None:
    made = Evolving(lake, "id BIGINT, clicks BIGINT, score DOUBLE, PRIMARY KEY (id)", "'versions' = 'commit'")
    made.run("INSERT INTO {t} VALUES (1, 1, 0.1D), (2, 2, 0.2D)")

    def call(procedure: str, rest: str = "") -> None:
        made.run(f"CALL {lake.catalog}.system.{procedure}(table => '{made.name}', experiment => 'Ranker_B'{rest})")

    call("create_experiment", ", add => 'score_b DOUBLE COMMENT ''of B'', n INT', drop => 'score'")
    experiment = "{t}.experiment_Ranker_B"
    made.run(
        f"INSERT INTO {experiment} (id, score_b) VALUES (1, 1.5D), (3, 3.5D)",
        f"UPDATE {experiment} SET n = clicks + 1 WHERE clicks >= 1",
        "DELETE FROM {t} WHERE id = 2",
    )
    wanted = [(1, 1, 1.5, 2), (3, None, 3.5, None)]
    assert made.rows(f"SELECT * FROM {experiment}") == wanted
    assert made.rows("SELECT * FROM {t}.branch_experiment_Ranker_B WHERE score_b > 1") == wanted
    assert made.rows() == [(1, 1, 0.1)]
    assert made.rows(f"SELECT count(*), min(id), max(id) FROM {experiment}") == [(2, 1, 3)]
    joined = f"SELECT e.id, t.score, e.score_b FROM {experiment} e LEFT JOIN {{t}} t ON e.id = t.id"
    assert made.rows(joined) == [(1, 0.1, 1.5), (3, None, 3.5)]
    described = {row[0]: row[1] for row in made.rows("DESCRIBE EXTENDED {t}")}
    assert described["Experiment Ranker_B"] == "adds score_b, n; drops score"
    assert "score_b" not in described
    assert not [row for row in made.rows("SHOW CREATE TABLE {t}") if "xperiment" in str(row[0])]
    with refused_in_sql(lake, made.name, "UNSUPPORTED", "delete is not supported", "'Ranker_B'"):
        made.run(f"DELETE FROM {experiment} WHERE id = 1")
    for statement in ("TRUNCATE TABLE {e}", "INSERT OVERWRITE {e} SELECT id, score_b, n FROM {e}"):
        with refused_in_sql(lake, made.name, "UNSUPPORTED", "overwrite is not supported", "'Ranker_B'"):
            made.run(statement.replace("{e}", experiment))
    with refused_in_sql(lake, made.name, "SCHEMA_MISMATCH", "'clicks'", "[id, score_b, n]"):
        made.run(f"UPDATE {experiment} SET clicks = 1")
    with refused_in_sql(lake, made.name, "UNSUPPORTED", "experiment"):
        made.run(f"ALTER TABLE {experiment} ADD COLUMN x INT")
    with refused_in_sql(lake, made.name, "UNSUPPORTED", "no changes"):
        made.run(f"SELECT * FROM {experiment}.changes WITH ('after' = '0')")
    with refused_in_sql(lake, made.name, "NOT_FOUND", "no experiment 'c'", "[Ranker_B]"):
        made.run("SELECT * FROM {t}.experiment_c")
    with refused_in_sql(lake, made.name, "DEFINITION", "no columns", "score DOUBLE"):
        made.run(
            f"CALL {lake.catalog}.system.create_experiment(table => '{made.name}', experiment => 'c', add => 'x y z')"
        )
    made.same_after_compaction("SELECT * FROM {t}", f"SELECT * FROM {experiment}")
    call("promote_experiment")
    assert made.rows() == [(1, 1, 0.1, 1.5, 2), (3, None, None, 3.5, None)]
    made.run("DELETE FROM {t} WHERE id = 3", "UPDATE {t} SET score_b = 0D WHERE id = 1")
    made.same_after_compaction()
    assert made.rows() == [(1, 1, 0.1, 0.0, 2)]


def test_what_an_experiment_is_not(lake: kl.Lake, made: Evolving) -> None:
    table = made.table
    b = table.experiment("b", add={"score_b": Float64}, drop=["score"])
    commit = b.update([{"id": 1, "score_b": 1.0}], version=1)
    branch = "experiment_b"
    refusals = (
        (kl.DefinitionError, ("'clicks' already",), lambda: table.experiment("c", add={"clicks": Int64})),
        (kl.DefinitionError, ("xperiment 'b'", "'score_b'"), lambda: table.experiment("c", add={"Score_B": Int64})),
        (kl.DefinitionError, ("xperiment 'b'", "'score_b'"), lambda: table.alter(add={"score_b": Int64})),
        (kl.DefinitionError, ("xperiment 'b'", "'score_b'"), lambda: table.alter(rename={"clicks": "score_b"})),
        (kl.SchemaMismatch, ("no column of table",), lambda: table.experiment("c", add={"x": Int64}, drop=["y"])),
        (kl.DefinitionError, ("ey column 'id'",), lambda: table.experiment("c", add={"x": Int64}, drop=["id"])),
        (kl.DefinitionError, ("'a b'", "letters"), lambda: table.experiment("a b", add={"x": Int64})),
        (kl.SchemaMismatch, ("'b'", "score_b"), lambda: table.experiment("b", add={"x": Int64})),
        (kl.TableNotFound, ("no experiment 'x'",), lambda: table.drop_experiment("x")),
        (kl.TableNotFound, ("no experiment 'x'",), lambda: table.experiment("x")),
        (kl.DefinitionError, ("is no experiment",), table.promote),
        (kl.Unsupported, ("ublication", "'b'"), b.publish),
        (kl.Unsupported, ("ndo", "'b'"), lambda: b.undo(after=commit)),
        (kl.Unsupported, ("ollback", "'b'"), lambda: b.rollback(to=commit)),
        (kl.Unsupported, ("herry_pick", "'b'"), lambda: table.cherry_pick(branch)),
        (kl.Unsupported, ("rop_branch", "'b'"), lambda: table.drop_branch(branch)),
        (kl.Unsupported, ("hanges",), lambda: b.changes(after=commit)),
        (kl.Unsupported, ("lter",), lambda: b.alter(add={"x": Int64})),
        (kl.Unsupported, ("volve",), lambda: b.update([{"id": 1, "x": 1}], version=1, evolve=True)),
        (kl.Unsupported, ("update_json",), lambda: b.update_json([{"id": 1, "payload": "{}"}], column="payload")),
        (kl.Unsupported, ("earlier moments",), lambda: b.read(at=commit)),
        (kl.Unsupported, ("n experiment has no health",), b.health),
        (kl.Unsupported, ("xperiments=",), lambda: table.read(at=commit, experiments="b")),
        (kl.Unsupported, ("elete", "'b'"), lambda: b.delete([{"id": 1}], version=1)),
        (kl.Unsupported, ("verwrite", "'b'"), lambda: b.overwrite([{"id": 1, "score_b": 1.0}], version=1)),
        (kl.SchemaMismatch, ("no column 'clicks'",), lambda: b.update([{"id": 1, "clicks": 1}], version=1)),
        (kl.SchemaMismatch, ("'score_b'",), lambda: b.upsert([{"id": 1}], version=1)),
        (kl.VersionMissing, ("version",), lambda: b.update([{"id": 1, "score_b": 1.0}])),
    )
    for error, words, what in refusals:  # a sentence begins with a capital
        with refused(lake, made.name, error, *words):
            what()
    assert rows(b) == [(0, 0, None), (1, 1, 1.0), (2, 2, None), (3, 3, None)]


@pytest.mark.slow
def test_main_goes_on_meanwhile(lake: kl.Lake) -> None:
    """Columns change, buckets grow, writes are undone and replaced; versions are those of an ordering column."""
    made = Evolving(
        lake,
        "id BIGINT, at TIMESTAMP, a BIGINT, b BIGINT, PRIMARY KEY (id)",
        "'ordering' = 'at'",
        "CLUSTERED BY (id) INTO 2 BUCKETS",
    )
    table = made.table

    def at(second: int) -> datetime:
        return datetime(2026, 1, 1, 0, 0, second, tzinfo=timezone.utc)

    first = table.upsert([{"id": i, "at": at(1), "a": i, "b": i} for i in range(6)])
    own = table.experiment("own", add={"x": Int64}, drop=["b"])
    assert [own.spec.ordering, own.spec.versions] == ["at", "ordering"]
    scored = [{"id": i, "x": 10 * i, "at_x": at(2)} for i in (1, 2, 3)]
    done = own.update(scored, version="at_x", idempotency_key="day 1")
    assert own.update(scored, version="at_x", idempotency_key="day 1").snapshot_id == done.snapshot_id
    assert table.update([{"id": 0, "a": 100, "at": at(2)}], idempotency_key="day 1").snapshot_id != done.snapshot_id
    table.alter(rename={"a": "alpha"}, add={"late": Int64}, drop="b")
    own.update([{"id": 2, "x": 21}], version=3 * 10**15)
    wrong = made.table.update(
        [{"id": 1, "alpha": -1, "late": 1, "at": at(3)}, {"id": 7, "alpha": 7, "late": 7, "at": at(3)}]
    )
    assert made.rows("SELECT id, alpha, late, x FROM {t}.experiment_own WHERE id IN (1, 2, 7)") == [
        (1, -1, 1, 10),
        (2, 2, None, 21),
        (7, 7, 7, None),
    ]
    assert wrong.snapshot_id == made.head
    made.table.undo(after=table.history()[1])
    made.table.change_buckets(4)
    own.update([{"id": 5, "x": 50, "at_x": at(4)}], version="at_x")
    wanted = [(0, 100, None), (1, 1, 10), (2, 2, 21), (3, 3, 30), (4, 4, None), (5, 5, 50)]
    look = "SELECT id, alpha, x FROM {t}.experiment_own"
    assert made.rows(look) == wanted
    own.rebucket()
    assert made.rows(look) == wanted
    made.table.rebucket()
    made.same_after_compaction(look)
    made.table.rollback(to=first)
    assert made.rows(look)[0] == (0, 0, None)
    made.run("TRUNCATE TABLE {t}")
    assert made.rows(look) == [(1, None, 10), (2, None, 21), (3, None, 30), (5, None, 50)]
    made.table.experiment("own").promote()
    assert made.rows("SELECT id, x FROM {t}") == [(1, 10), (2, 21), (3, 30), (5, 50)]


@pytest.mark.slow
def test_three_columns_beside_a_hundred_take_little_space(lake: kl.Lake) -> None:
    count = 4000
    names = [f"c{number}" for number in range(100)]
    schema = pa.schema([("id", pa.int64()), *((name, pa.float64()) for name in names)])
    spec = kl.TableSpec.from_arrow(schema, name="experiments.wide", key="id", buckets=1, versions="explicit")
    table = lake.create(spec)
    values = [float((i * 2654435761) % 2**32) / 7 for i in range(count)]
    columns = {name: values[n:] + values[:n] for n, name in enumerate(names)}
    ids = {"id": list(range(count))}
    table.upsert(pa.table(ids | columns, schema=schema), version=1)
    before = sum(path.stat().st_size for path in files(table))
    own = table.experiment("narrow", add={"x": Float64, "y": Float64, "z": Float64})
    scores = pa.table(ids | {"x": columns["c1"], "y": columns["c2"], "z": columns["c3"]})
    own.update(scores, version=2)
    assert sum(path.stat().st_size for path in files(own)) <= 0.05 * before
    table.upsert(pa.table(ids | columns, schema=schema), version=3)
    assert sum(path.stat().st_size for path in files(table)) <= 2.001 * before, "main does not grow by them"
    assert own.read(columns=["c1", "x"], where="c1 = x").count() == count
