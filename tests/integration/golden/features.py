"""What else a golden lake has: branches, states, ledgers, experiments, changed columns, sketches, a pipeline."""

import json
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa

import keylake as kl
from keylake import Float64

BRANCHED = "golden.branched"
CHANGED = "golden.changed"
REPLACED = "golden.replaced"
PAYLOADS = "golden.payloads"
SKETCHED = "golden.sketched"
COPY = "golden.copy"
PIPELINE = "golden"
TARGET = "golden.orders"
FEATURES = (BRANCHED, CHANGED, REPLACED, PAYLOADS, SKETCHED)
DRAFT = "tmp_draft"
EXPERIMENT = "ranker"
OFFSETS = {"clicks-0": (0, 100), "clicks-1": (7, 9)}
MIDNIGHT = datetime(2026, 11, 4, tzinfo=timezone.utc)
HISTORY = "2026-11-02"

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64()), ("b", pa.string())])


def rows(keys: range, text: str) -> list[dict[str, object]]:
    return [{"id": key, "a": 10 * key, "b": text} for key in keys]


def write_features(lake: kl.Lake, place: Path) -> None:
    """All of it."""
    branched(lake)
    changed(lake)
    replaced(lake)
    payloads(lake)
    sketched(lake)
    (place / "in" / "orders").mkdir(parents=True)
    run_pipeline(lake, place, 1)


def branched(lake: kl.Lake) -> None:
    """A ledger, a consumer, a trigger, archived states, a draft, an experiment, undone commits, tags, a plain copy."""
    spec = kl.TableSpec.from_arrow(SCHEMA, name=BRANCHED, key="id", versions="explicit", buckets=2)
    table = lake.create(spec)
    first = table.upsert(rows(range(8), "first"), version=1, idempotency_key="once", stream="web", watermark=MIDNIGHT)
    table.upsert(rows(range(6, 10), "second"), version=2, offsets=OFFSETS, stream="clicks")
    table.changes(consumer="store").count()
    table.acknowledge("store", until=first)
    table.archive("2026-11-01")
    table.update([{"id": 2, "b": "third"}], version=3)
    table.archive(HISTORY)
    table.upsert(rows(range(3, 5), "late"), version=2, business_time="2026-11-01", stream="late")
    mistake = table.delete([{"id": 1}, {"id": 9}], version=4)
    table.undo(until=mistake, after=parent(table, mistake))
    table.delete([{"id": 0}], version=5)
    run(lake, BRANCHED, "ALTER TABLE {t} CREATE TAG monday")
    trigger = lake.triggers.on_commit(table, lambda event: None, name="sender", after=first)
    list(trigger.fire())
    table.branch(DRAFT).update([{"id": 5, "b": "draft"}], version=6)
    experiment = table.experiment(EXPERIMENT, add={"score": Float64}, drop=["b"])
    experiment.update([{"id": 3, "score": 0.5}, {"id": 20, "score": 2.0}], version=7)
    table.refresh_merged()
    table.publish_iceberg(COPY)
    table.update([{"id": 7, "a": -1}], version=8)


def parent(table: kl.KeyedTable, commit: kl.Commit) -> int:
    """The commit before one."""
    found = next(each.parent_id for each in table.history() if each.snapshot_id == commit.snapshot_id)
    assert found is not None
    return found


def run(lake: kl.Lake, table: str, *statements: str) -> None:
    """Statements of SQL, in which {t} stands for the table."""
    for statement in statements:
        lake.spark.sql(statement.replace("{t}", f"{lake.catalog}.{table}")).collect()


def changed(lake: kl.Lake) -> None:
    """Columns that were added, renamed, widened, dropped, and added again; a default; rows before and after."""
    columns = "id BIGINT, a INT, b STRING, c DOUBLE DEFAULT 1.5, s STRUCT<x: INT, y: STRING>, PRIMARY KEY (id)"
    words = "USING keylake CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('versions' = 'commit')"
    run(
        lake,
        CHANGED,
        f"CREATE TABLE {{t}} ({columns}) {words}",
        "INSERT INTO {t} SELECT id, id, 'b', 0.5, named_struct('x', id, 'y', 'y') FROM range(5)",
        "ALTER TABLE {t} RENAME COLUMN a TO renamed",
        "ALTER TABLE {t} ALTER COLUMN renamed TYPE BIGINT",
        "ALTER TABLE {t} DROP COLUMN b",
        "ALTER TABLE {t} ADD COLUMN b DATE",
        "ALTER TABLE {t} ADD COLUMN s.z BIGINT",
        "INSERT INTO {t} (id, renamed, b) VALUES (4, 5000000000, DATE '2026-11-01'), (9, 9, NULL)",
        "UPDATE {t} SET s = named_struct('x', 1, 'y', 'set', 'z', 7L) WHERE id = 2",
        "DELETE FROM {t} WHERE id = 1",
    )


def replaced(lake: kl.Lake) -> None:
    """A table that a statement has replaced, whose older commits have other columns."""
    words = "USING keylake TBLPROPERTIES ('key' = 'id')"
    run(
        lake,
        REPLACED,
        f"CREATE TABLE {{t}} {words} AS SELECT id, id * 2 AS a FROM range(6)",
        f"CREATE OR REPLACE TABLE {{t}} {words} AS SELECT id, CAST(a AS STRING) AS text FROM {{t}} WHERE id > 2",
        "INSERT INTO {t} VALUES (3, 'three'), (30, 'thirty')",
    )


def payloads(lake: kl.Lake) -> None:
    """Columns that payloads of JSON have made, and values that fit none."""
    spec = kl.TableSpec.from_arrow(
        pa.schema([pa.field("id", pa.int64(), nullable=False), ("n", pa.int32())]), name=PAYLOADS, key="id", buckets=1
    )
    table = lake.create(spec)
    for batch in (
        {1: {"n": 1, "text": "a", "home": {"zip": 1}}, 2: {"n": 2**40, "list": [1, None]}, 3: {"n": "no number"}},
        {1: {"n": None, "home": {"street": "s"}}, 2: {"list": "no list"}, 4: {"new": 0.5}},
    ):
        texts = [(key, json.dumps(payload)) for key, payload in batch.items()]
        table.update_json(lake.spark.createDataFrame(texts, "id long, payload string"))


def sketched(lake: kl.Lake) -> None:
    """Columns of sketches and bitmaps that SQL has made."""
    columns = "id BIGINT, seen BINARY, members BINARY, seconds BINARY, bits BINARY, PRIMARY KEY (id)"
    reducers = "'reduce.seen' = 'Hll', 'reduce.members' = 'Theta', 'reduce.seconds' = 'Kll', 'reduce.bits' = 'BitmapOr'"
    words = f"USING keylake CLUSTERED BY (id) INTO 2 BUCKETS TBLPROPERTIES ('versions' = 'commit', {reducers})"
    run(lake, SKETCHED, f"CREATE TABLE {{t}} ({columns}) {words}", of_range(0, 400), of_range(300, 800))
    lake.table(SKETCHED).compact("full")
    run(lake, SKETCHED, of_range(700, 900))


def of_range(first: int, last: int) -> str:
    """Sketches of the numbers of a range, the even ones under one key and the odd ones under another."""
    sketches = "hll_of(id), theta_of(id), kll_of(CAST(id AS DOUBLE)), roaring_of(CAST(id AS INT))"
    return f"INSERT INTO {{t}} SELECT id % 2, {sketches} FROM range({first}, {last}, 1, 1)"


def run_pipeline(lake: kl.Lake, place: Path, number: int) -> kl.PipelineReport:
    """A file arrives, and the pipeline takes it."""
    changes = [{"id": key, "n": number, "text": f"from file {number}"} for key in range(number, number + 4)]
    changes.append({"op": "d", "id": number + 1})
    file = place / "in" / "orders" / f"{number}.json"
    file.write_text("".join(f"{json.dumps(each)}\n" for each in changes))
    definition = kl.Pipeline(
        source=kl.Files(path=str(place / "in"), key=("id",)),
        sink=kl.LakeSink(namespace="golden"),
        pipeline=kl.PipelineOptions(name=PIPELINE),
    )
    return kl.run_pipeline(definition, lake, once=True)
