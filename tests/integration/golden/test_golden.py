"""Lakes that older code has written: read as they were then, and written on beside the model."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

import keylake as kl
import keylake.local
from integration.golden import features
from integration.golden.archive import ARCHIVES, place_of, unpacked
from integration.golden.lake_text import lines
from integration.golden.tables import TABLES, to_model
from integration.raw import catalog_of, check_raw_rows, tables_of

NAMES = sorted(path.name.removesuffix(".tar.xz") for path in ARCHIVES.glob("*.tar.xz"))

# The tables that a proof of any change writes to; the others are left to the slow tests.
QUICK = ("golden.texts", "golden.grouped", "golden.late_accumulators")


@dataclass(frozen=True)
class Opened:
    """A lake, and what it said before any test wrote to it."""

    name: str
    lake: kl.Lake
    text: list[str]


@pytest.fixture(scope="module", params=NAMES)
def golden(request: pytest.FixtureRequest) -> Iterator[Opened]:
    with unpacked(request.param) as lake:
        with keylake.local.open(place_of(request.param) / "lake") as local:
            text = list(lines(lake, local))
        yield Opened(request.param, lake, text)
        with closing(catalog_of(lake)) as catalog:
            check_raw_rows(tables_of(catalog))


def test_golden_lakes_read_as_when_they_were_written(
    golden: Opened, agreed: Callable[[Path, Iterable[str]], None]
) -> None:
    agreed(ARCHIVES / f"{golden.name}.txt", golden.text)


@pytest.mark.slow
def test_golden_lakes_are_whole(golden: Opened) -> None:
    reports = [golden.lake.check(each.name, "pages") for each in golden.lake.tables()]
    assert not [damage for report in reports for damage in report.damage]


@pytest.mark.slow
@pytest.mark.parametrize(
    "table", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in TABLES]
)
def test_golden_tables_are_written_on(golden: Opened, table: str) -> None:
    """Each verb again, an undo of two commits, a compaction, and a branch that is published."""
    made = TABLES[table]
    twin = made.opened(golden.lake, table)
    own = list(made.columns)
    twin.check()
    for verb, keys, columns, version in (
        ("upsert", (2, 9), own, 60),
        ("update", (3, 9), own, 45),
        ("delete", (2, 5), [], 70),
        ("upsert", (5,), own, 65),
    ):
        made.made(verb, keys, columns, version, len(twin.model.replaced)).apply(twin)
    twin.check()
    twin.table.compact("full")
    twin.check()
    twin.table.undo(after=twin.commits[1], until=twin.commits[3])
    done = len(twin.model.replaced)
    twin.model = twin.model.without(done - 2, done)
    twin.check()
    branch = twin.table.branch("tmp_golden")
    operation = made.made("upsert", (11,), own, 80, 1)
    given = {} if operation.version is None else {"version": operation.version}
    branch.upsert(twin.frame(operation.rows), **given)
    twin.check()
    assert branch.publish(require=[kl.row_count_change(at_least=1)]).commits == 1
    to_model(twin.model, operation)
    twin.check()


def test_golden_ledgers_go_on(golden: Opened) -> None:
    """A key and offsets that were there are known; a consumer, a state and a draft are where they were."""
    table = golden.lake.table(features.BRANCHED)
    head = table.history()[0].snapshot_id
    assert table.upsert(features.rows(range(3), "again"), version=90, idempotency_key="once").repeated
    assert table.update([{"id": 1, "a": 0}], version=90, offsets=features.OFFSETS).repeated
    assert table.history()[0].snapshot_id == head
    assert table.changes(consumer="store").count() == 8
    late = table.update([{"id": 2, "b": "later"}], version=4, business_time=features.HISTORY)
    assert table.read(as_of=features.HISTORY, where="id = 2").collect()[0]["b"] == "later"
    assert table.get(id=2)["b"] == "later"
    table.undo(after=features.parent(table, late), until=late)
    assert table.get(id=2)["b"] == "third"
    assert table.branch(features.DRAFT).publish().commits == 1
    assert table.get(id=5)["b"] == "draft"
    table.acknowledge("store")
    assert [row["id"] for row in table.changes(consumer="store").collect()] == [5], "what came since it was read"


@pytest.mark.slow
def test_golden_experiments_and_copies_go_on(golden: Opened) -> None:
    lake = golden.lake
    table = lake.table(features.BRANCHED)
    experiment = table.experiment(features.EXPERIMENT)
    experiment.update([{"id": 4, "score": 4.0}], version=95)
    assert experiment.get(id=3)["score"] == 0.5
    done = table.publish_iceberg(features.COPY)
    assert done.rows_written > 0
    rows = f"SELECT id, a, b FROM {lake.catalog}.{{}} ORDER BY id"
    assert (
        lake.spark.sql(rows.format(features.COPY)).collect() == lake.spark.sql(rows.format(features.BRANCHED)).collect()
    )
    experiment.promote()
    assert [lake.table(features.BRANCHED).get(id=key)["score"] for key in (3, 4)] == [0.5, 4.0]


@pytest.mark.slow
def test_golden_columns_go_on(golden: Opened) -> None:
    """Changed and replaced tables, payloads and sketches take rows, and a compaction changes no answer."""
    lake = golden.lake
    features.run(
        lake,
        features.CHANGED,
        "INSERT INTO {t} (id, renamed, c) VALUES (50, 1, DEFAULT)",
        "ALTER TABLE {t} ADD COLUMN after_golden STRING",
        "UPDATE {t} SET after_golden = 'set' WHERE id = 9",
    )
    features.run(lake, features.REPLACED, "INSERT INTO {t} VALUES (4, 'four')")
    payload = lake.spark.createDataFrame([(1, '{"text": "b", "later": true}')], "id long, payload string")
    assert lake.table(features.PAYLOADS).update_json(payload).added == ("later",)
    features.run(lake, features.SKETCHED, features.of_range(0, 900))
    for name in (features.CHANGED, features.REPLACED, features.PAYLOADS, features.SKETCHED):
        table = lake.table(name)
        before = table.read().sort("id").collect()
        table.compact("full")
        assert table.read().sort("id").collect() == before
    row = lake.table(features.CHANGED).get(id=50)
    assert (row["c"], row["after_golden"]) == (1.5, None)
    seen = lake.spark.sql(f"SELECT hll_sketch_estimate(seen) FROM {lake.catalog}.{features.SKETCHED}").collect()
    assert all(abs(each[0] - 450) < 30 for each in seen)


def test_a_golden_pipeline_goes_on(golden: Opened) -> None:
    """What it has taken is not taken again; a file that comes now is."""
    report = features.run_pipeline(golden.lake, place_of(golden.name), 3)
    assert report.rows == 5
    rows = golden.lake.table(features.TARGET).read().sort("id").collect()
    assert [(row["id"], row["n"], row["text"]) for row in rows] == [
        (1, 1, "from file 1"),
        (3, 3, "from file 3"),
        (5, 3, "from file 3"),
        (6, 3, "from file 3"),
    ]
