"""Files of rows that are loaded from the command line, and commands on what a table has become."""

import json
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import csv, parquet
from typer.testing import CliRunner

import keylake as kl
from integration.twin import fresh_name
from keylake.cli.app import app

ROWS = [
    {"user": 7, "day": "2026-11-01", "at": "2026-11-01T10:00:00Z", "clicks": 3, "city": "Oslo"},
    {"user": 8, "day": "2026-11-01", "at": "2026-11-01T10:00:00Z", "clicks": None, "city": None},
]


def loaded(lake: kl.Lake, *words: str, status: int = 0) -> str:
    return typed(lake, "load", *words, status=status)


def typed(lake: kl.Lake, *words: str, status: int = 0) -> str:
    """What a command prints, or is refused with."""
    assert lake._server is not None
    done = CliRunner().invoke(app, [*words, "--lake", lake._server.url.partition("/;")[0]], env=token(lake))
    said = f"{done.stdout}{done.stderr}{done.exception or ''}"
    assert (done.exit_code == 0) == (status == 0), said
    return said


def token(lake: kl.Lake) -> dict[str, str]:
    assert lake._server is not None
    return {"KEYLAKE_TOKEN": lake._server.url.partition("token=")[2]}


def written(folder: Path, kind: str) -> Path:
    """The rows in a file, with their types where it has some."""
    file = folder / f"rows.{kind}"
    if kind == "jsonl":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in ROWS))
        return file
    table = pa.Table.from_pylist(ROWS)
    types = pa.schema(
        [*list(table.schema)[:1], ("day", pa.date32()), ("at", pa.timestamp("us", "UTC")), *list(table.schema)[3:]]
    )
    (csv.write_csv if kind == "csv" else parquet.write_table)(table if kind == "csv" else table.cast(types), file)
    return file


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_file_becomes_a_table(lake: kl.Lake, tmp_path: Path, kind: str) -> None:
    file, name = written(tmp_path, kind), fresh_name("loaded")
    assert "--key user" in loaded(lake, str(file), name, status=1)
    if kind == "jsonl":  # has dates as text, which a table that is there knows better
        schema = parquet.read_schema(written(tmp_path, "parquet"))
        lake.create(kl.TableSpec.from_arrow(schema, name=name, key=["user", "day"], ordering="at"))
        loaded(lake, str(file), name)
    else:
        loaded(lake, str(file), name, "--key", "user,day", "--ordering", "at")
    table = lake.table(name)
    assert [str(each.type) for each in table.spec.columns] == ["long", "date", "timestamptz", "long", "string"]
    rows = sorted(table.to_arrow().to_pylist(), key=lambda row: row["user"])
    assert [(row["user"], str(row["day"]), row["clicks"], row["city"]) for row in rows] == [
        (7, "2026-11-01", 3, "Oslo"),
        (8, "2026-11-01", None, None),
    ]
    assert "loaded before" in loaded(lake, str(file), name)
    assert len(table.history()) == 1
    assert "Leave --key out" in loaded(lake, str(file), name, "--key", "user", status=1)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "user,day,at,clicks\n9,2026-11-01,2026-11-01T10:00:00Z,x\n", "invalid value 'x'"),
        ("a.csv", "user,day,at,clacks\n9,2026-11-01,2026-11-01T10:00:00Z,1\n", "has no column 'clacks'"),
        ("a.jsonl", '{"user": 1,\n', "cannot be read"),
        ("a.parquet", "no parquet", "cannot be read"),
        ("a.xml", "<a/>", "no kind that is known"),
    ],
)
def test_files_that_do_not_fit(lake: kl.Lake, tmp_path: Path, name: str, text: str, says: str) -> None:
    table = fresh_name("loaded")
    loaded(lake, str(written(tmp_path, "csv")), table, "--key", "user,day", "--ordering", "at")
    (tmp_path / name).write_text(text)
    assert says in loaded(lake, str(tmp_path / name), table, status=1)
    assert len(lake.table(table).history()) == 1


def test_commands_on_the_past_of_a_table(lake: kl.Lake) -> None:
    schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("a", pa.int64())])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("typed"), key="k", buckets=1))
    first = table.upsert([{"k": 1, "a": 1}])
    table.upsert([{"k": 1, "a": 2}])
    assert str(first.snapshot_id) in typed(lake, "rollback", table.name, str(first.snapshot_id))
    assert table.to_arrow().to_pylist() == [{"k": 1, "a": 1}]
    table.branch("tmp_pick").upsert([{"k": 2, "a": 3}])
    typed(lake, "cherry-pick", table.name, "tmp_pick", "--plan")
    assert table.count() == 1
    typed(lake, "cherry-pick", table.name, "tmp_pick")
    assert table.count() == 2
    assert "expired" in typed(lake, "clean", table.name, "--days", "0", "--snapshots", "1")
    assert "Say it with --yes" in typed(lake, "drop", table.name, status=1)
    assert "is dropped" in typed(lake, "drop", table.name, "--yes")
    assert table.name not in {each.name for each in lake.tables()}
