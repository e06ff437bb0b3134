"""Steps of a pipeline that are files of SQL, run for every closed interval."""

import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from integration.streams.arriving import arrive
from integration.twin import fresh_name
from keylake._triggers.steps import SqlStep, register_steps
from keylake_pipelines.runner.control import states
from pipelines.running import running

NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)
# As it was run once a day: a view of the stretch, then two writes; one of them has a semicolon in a text.
SCRIPT = """-- clicks by page; run with :start and :end
CREATE OR REPLACE TEMP VIEW stretch AS
SELECT * FROM {clicks} WHERE at >= '${{start}}' AND at < '${{end}}';

INSERT INTO {totals} (page, clicks)
SELECT page, count(*) FROM stretch GROUP BY page;
INSERT INTO {totals} (page, clicks)
SELECT ';' AS page, count(*) FROM {clicks} WHERE at >= :start AND at < :end; /* the end; */
"""


@pytest.fixture
def tables(lake: kl.Lake) -> Iterator[tuple[kl.KeyedTable, kl.KeyedTable]]:
    schema = pa.schema(
        [pa.field("id", pa.int64(), nullable=False), ("at", pa.timestamp("us", "UTC")), ("page", pa.string())]
    )
    clicks = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("steps"), key=["id"], ordering="at"))
    totals = fresh_name("steps")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{totals} (page STRING, clicks BIGINT, PRIMARY KEY (page)) USING keylake "
        "TBLPROPERTIES ('versions' = 'commit', 'reduce.clicks' = 'Sum')"
    ).collect()
    yield clicks, lake.table(totals)
    for name in [row for row in ("step_a", "step_b") if row in repr(lake.triggers)]:
        lake.triggers.remove(name)


def script(lake: kl.Lake, tables: tuple[kl.KeyedTable, kl.KeyedTable], folder: Path, text: str = SCRIPT) -> SqlStep:
    clicks, totals = tables
    path = folder / "step_a.sql"
    names = {"clicks": f"{lake.catalog}.{clicks.spec.name}", "totals": f"{lake.catalog}.{totals.spec.name}"}
    path.write_text(text.format(**names))
    return SqlStep(path, every=5, table=clicks.spec.name)


def sums(totals: kl.KeyedTable) -> dict[str, int]:
    return {row["page"]: row["clicks"] for row in totals.read().collect()}


def click(table: kl.KeyedTable, number: int, minute: float, page: str) -> None:
    at = NOON + timedelta(minutes=minute)
    table.upsert([{"id": number, "at": at, "page": page}], watermark=at)


@pytest.mark.slow
def test_a_daily_script_runs_every_five_minutes(
    lake: kl.Lake, tables: tuple[kl.KeyedTable, kl.KeyedTable], tmp_path: Path
) -> None:
    """Each interval counts once, also where the last statement failed the first time."""
    clicks, totals = tables
    (step,) = register_steps(lake, [script(lake, tables, tmp_path)], since=NOON)
    for number, minute in enumerate((0, 1, 4, 7, 11)):
        click(clicks, number, minute, "ab"[number % 2])
    assert [str(fired.what) for fired in lake.triggers.run_due()] == [
        "2026-11-01 12:00 to 12:05 UTC",
        "2026-11-01 12:05 to 12:10 UTC",
    ]
    assert sums(totals) == {"a": 2, "b": 2, ";": 4}
    assert lake.triggers.run_due() == ()
    assert step.lag() == 0
    lake.triggers.remove("step_a")


@pytest.mark.slow
def test_a_statement_that_fails_is_run_again_and_the_others_count_once(
    lake: kl.Lake, tables: tuple[kl.KeyedTable, kl.KeyedTable], tmp_path: Path
) -> None:
    clicks, totals = tables
    later = f"{lake.catalog}.{fresh_name('steps')}"
    text = SCRIPT + f"INSERT INTO {later} SELECT page FROM stretch;"
    register_steps(lake, [script(lake, tables, tmp_path, text)], since=NOON)
    click(clicks, 1, 1, "a")
    click(clicks, 2, 6, "b")
    with pytest.raises(kl.TriggerFailed, match="step_a"):
        lake.triggers.run_due()
    lake.spark.sql(f"CREATE TABLE {later} (page STRING) USING iceberg").collect()
    assert len(lake.triggers.run_due()) == 1
    assert sums(totals) == {"a": 1, ";": 1}
    assert [row["page"] for row in lake.spark.table(later).collect()] == ["a"]
    lake.triggers.remove("step_a")


REFUSED: dict[str, tuple[str | None, dict[str, Any], str]] = {
    "no file": (None, {}, "cannot read .*step_a.sql"),
    "no statement": ("-- nothing;\n ; /* SELECT 1 */", {}, "has no statement"),
    "syntax": ("SELECT 1;\n\nSELEKT 2;", {}, "statement 2 of 2, line 3 of .*SELEKT"),
    "minutes": ("SELECT 1", {"every": 7}, "do not fill a day"),
}


@pytest.mark.parametrize(("text", "change", "words"), REFUSED.values(), ids=REFUSED)
def test_what_is_wrong_is_said_before_anything_runs(
    lake: kl.Lake,
    tables: tuple[kl.KeyedTable, kl.KeyedTable],
    tmp_path: Path,
    text: str | None,
    change: dict[str, Any],
    words: str,
) -> None:
    good = script(lake, tables, tmp_path)
    wrong = replace(good, path=tmp_path / "wrong" / "step_a.sql", name="step_b", **change)
    if text is not None:
        Path(wrong.path).parent.mkdir()
        Path(wrong.path).write_text(text)
    with pytest.raises(kl.DefinitionError, match=words):
        register_steps(lake, [good, wrong])
    assert "step_a" not in repr(lake.triggers)
    with pytest.raises(kl.DefinitionError, match="Two steps are called 'step_a'"):
        register_steps(lake, [good, good])


DEFINED = """
source:
  type: files
  path: {folder}
  key: id
sink:
  type: keylake
  namespace: {name}
steps:
  - sql: step_a.sql
    every: 5 minutes
    table: {name}.clicks
    event-time: at
    late: 1 minute
    since: 2026-11-01T12:00:00Z
transform:
  - source-table: clicks
    projection: id, CAST(at AS TIMESTAMP) AS at, page
pipeline:
  name: {name}
  load.freshness: 1 s
"""


@pytest.mark.slow
def test_a_pipeline_runs_steps_for_closed_intervals(
    lake: kl.Lake, tables: tuple[kl.KeyedTable, kl.KeyedTable], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each interval counts once: in runs that end with their source, after one whose script failed, and in a thread."""
    name = fresh_name("steps").replace(".", "_")
    _, totals = tables
    shown = f"{lake.catalog}.{name}.clicks"
    script = tmp_path / "step_a.sql"
    script.write_text(SCRIPT.format(clicks=shown, totals=f"{lake.catalog}.{totals.spec.name}"))
    incoming = tmp_path / "in" / "clicks"
    incoming.mkdir(parents=True)
    file = tmp_path / "pipeline.yaml"
    file.write_text(DEFINED.format(folder=incoming.parent, name=name))

    def come(number: int, *minutes: float) -> None:
        rows = [{"id": 10 * number + n, "at": f"{NOON + timedelta(minutes=m):%FT%TZ}"} for n, m in enumerate(minutes)]
        arrive(incoming, str(number), *({**row, "page": "a"} for row in rows))

    come(1, 0, 1, 4, 5.5)
    assert kl.run_pipeline(kl.Pipeline.load(file), lake, once=True).failed_steps == ()
    assert sums(totals) == {}, "rows may be a minute late"
    come(2, 7, 4.5)
    whole = script.read_text()
    script.write_text(f"{whole} INSERT INTO {lake.catalog}.{name}.nowhere SELECT 1;")
    with caplog.at_level("ERROR", "keylake"):
        report = kl.run_pipeline(kl.Pipeline.load(file), lake, once=True)
    assert report.failed_steps == ("step_a",)
    assert str(report).endswith("failed: step_a")
    assert "Trigger 'step_a' failed for 2026-11-01 12:00 to 12:05 UTC" in caplog.text
    [state] = [each for each in states(lake) if each.name == name]
    assert "Trigger 'step_a' failed" in str(state.last_error)
    script.write_text(whole)
    assert kl.run_pipeline(kl.Pipeline.load(file), lake, once=True).failed_steps == ()
    assert sums(totals) == {"a": 4, ";": 4}
    with running(kl.Pipeline.load(file), lake):
        come(3, 9, 11, 13)
        until = time.monotonic() + 60
        while sums(totals).get(";") != 7 and time.monotonic() < until:
            time.sleep(0.2)
    assert sums(totals) == {"a": 7, ";": 7}
    assert lake.table(f"{name}.clicks").read().count() == 9
