"""How things show themselves in notebooks: short, escaped, in colours of the notebook's own theme."""

import json
import re
from dataclasses import fields, is_dataclass, replace
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

import keylake as kl
from keylake._display.html_table import MOST_LINES, ShownFields
from keylake._maintenance.compaction import BucketPicture, CompactionPlan, CompactionReport, Merge
from keylake.health import Health, ReadHealth, StreamHealth
from keylake_pipelines.runner.rounds import Recent
from keylake_pipelines.runner.state import PipelineState

EVIL = "<script>alert('1')</script>&$x_1$"
AT = datetime(2026, 11, 1, 12, tzinfo=UTC)
FINDING = kl.Finding(f"condition({EVIL!r})", 3.0, "0", passed=False)
BUCKET = {"bucket": EVIL, "files": 2, "depth": 2, "bytes": 9, "run_ages": [1], "run_bytes": [9], "run_rows": [3]}
PLAN = CompactionPlan(
    EVIL,
    [BucketPicture.from_row({**BUCKET, "reason": EVIL, "because": EVIL, "merges_files": 1, "merges_bytes": 9})] * 3,
)
CELL = kl.CellOrigin(
    column=EVIL,
    reducer=kl.Latest(),
    value=EVIL,
    version=2,
    commit_order=2,
    committed_at=AT,
    stream=EVIL,
    lost=(kl.StoredValue(value=EVIL, version=1, commit_order=1, stream=f"{EVIL}2", lost_because=EVIL),),
)


def of_class(result: type) -> object:
    """A result whose every field is the same."""
    made = object.__new__(result)
    for each in fields(result):  # type: ignore[arg-type]
        object.__setattr__(made, each.name, EVIL)
    return made


RESULTS = [of_class(each) for each in ShownFields.__subclasses__() if is_dataclass(each) and fields(each)]
RESULTS.append(PipelineState(EVIL, "running", EVIL, 1, AT, AT, 1, 1, f"1 {EVIL}", EVIL, EVIL, {EVIL: EVIL}))
THINGS: list[Any] = [
    *RESULTS,
    kl.TableSpec.from_arrow(
        pa.schema([pa.field("k", pa.int64(), nullable=False), pa.field(EVIL, pa.string())]), name="a.b", key=["k"]
    ),
    kl.History(EVIL, [kl.CommitInfo(1, 2, AT, EVIL, 3, (1, 2), (EVIL,), EVIL, EVIL, EVIL, EVIL, 1)] * 2),
    PLAN,
    CompactionReport(EVIL, [Merge(EVIL, EVIL, EVIL, EVIL, 1, 1, 1, 1, 1, 1, 1, 1.0)]),
    kl.RowExplanation(table=EVIL, key=((EVIL, EVIL),), exists=True, newest_write=CELL, columns=(CELL,)),
    kl.RowExplanation(table=EVIL, key=((EVIL, EVIL),), exists=False),
    Health(
        EVIL,
        AT,
        PLAN,
        kl.CompactionPolicy(),
        ReadHealth(1, 1, 1, 1, 1, 1.0),
        9,
        (),
        (StreamHealth(EVIL, 1, 1, AT, AT, None, None),),
        (),
        (),
        EVIL,
    ),
    kl.GateFailed(EVIL, [FINDING]),
    kl.Published(1, 1, True, (FINDING, FINDING), (EVIL,), 0, 0),
]


@pytest.mark.parametrize("thing", THINGS, ids=lambda thing: type(thing).__name__)
def test_what_is_shown_is_escaped_and_has_the_colours_of_the_page(thing: Any) -> None:
    html = thing._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    colours = set(re.findall(r"(?<![-\w])(?:color|background): *([^;\"}]+)", html))
    assert {each for each in colours if not re.fullmatch(r"inherit|#[0-9a-f]{6}55", each)} == set()
    tags = re.findall(r"<(/?)(\w+)", re.sub(r"<style>.*?</style>", "", html, flags=re.DOTALL))
    opened = sorted(tag for end, tag in tags if not end and tag != "br")
    assert opened == sorted(tag for end, tag in tags if end)


def test_long_tables_are_short_unless_printed() -> None:
    history = kl.History(
        "a.b", [kl.CommitInfo(n, None, AT, None, n, None, ("c",) * 200, *[None] * 5) for n in range(999)]
    )
    assert len(repr(history).splitlines()) == MOST_LINES + 3
    assert repr(history).endswith(f"... and {999 - MOST_LINES} more: print() shows all")
    assert max(map(len, repr(history).splitlines())) < 320
    assert history._repr_html_().count("<tr>") == MOST_LINES + 1
    assert len(str(history).splitlines()) == 999 + 2


def test_a_result_reads_well() -> None:
    html = kl.Commit(
        snapshot_id=4073486058456057637, rows=1200, versions=(1793494, 1793495), seconds=0.84321
    )._repr_html_()
    for cell in ("4073486058456057637", "1,200", "1793494, 1793495", "0.843"):
        assert f"<td>{cell}</td>" in html
    findings = kl.Published(1, 1, True, (FINDING, FINDING), (), 0, 0)._repr_html_()
    assert findings.count("<table>") == 2, "the findings are a table of their own"


def test_a_check_says_what_it_wants() -> None:
    assert repr(kl.null_rate("spend", below=0.01)) == "Check(null_rate('spend'): must be below 0.01)"


# ------------------------------------------------------------------------------------------------- a row as a grid


def test_a_row_is_a_grid_of_commits_and_columns() -> None:
    late = kl.Origin(version=3, commit_order=2, committed_at=AT, stream="late")
    web = replace(late, version=5, commit_order=1, stream="web")
    lost = kl.StoredValue(**vars(late), value="Bergen", lost_because="older version")
    clicks = tuple(kl.StoredValue(**vars(each), value=value) for each, value in ((web, 3), (late, 4)))
    row = kl.RowExplanation(
        table="features.profile",
        key=(("user_id", 7),),
        exists=True,
        newest_write=web,
        columns=(
            kl.CellOrigin(column="city", reducer=None, value="Oslo", **vars(web), lost=(lost,)),
            kl.CellOrigin(
                column="clicks", reducer=kl.Sum(), value=7, **vars(web), contribution_count=2, contributions=clicks
            ),
            kl.CellOrigin(column="never", reducer=None, value=None, version=None),
        ),
    )
    html = row._repr_html_()
    grid = html[html.index("<caption") : html.index("<details>")]
    lines = [re.sub(r"<[^>]*>", "|", line) for line in grid.split("<tr>")[1:]]
    assert [[cell for cell in line.split("|") if cell] for line in lines] == [
        ["web", "2026-11-01 12:00:00", "late", "2026-11-01 12:00:00", "reads as"],
        ["city", "Oslo", "Bergen", "Oslo"],
        ["clicks", "3", "4", "7", " ", "Sum"],
        ["never", "null"],
    ]
    assert re.search(r"<s[ >][^<]*>Bergen</s>", grid), "what was lost is struck through"
    assert len(set(re.findall(r"#[0-9a-f]{6}(?=55)", grid))) == 2, "each stream has a colour"
    drawn = {text.get_text() for text in row.plot().axes[0].texts}
    assert {"city", "clicks", "web", "late", "Oslo", "Bergen", "3", "4", "7", "null"} <= drawn
    assert row._ipython_key_completions_() == ["city", "clicks", "never"]


def test_of_many_commits_the_newest_are_drawn() -> None:
    cells = [kl.StoredValue(value=n, version=n, commit_order=n, lost_because="older version") for n in range(20)]
    won = kl.Origin(version=20, commit_order=20)
    cell = kl.CellOrigin(column="a", reducer=None, value="won", **vars(won), lost=tuple(cells))
    row = kl.RowExplanation(table="a.b", key=(("k", 1),), exists=True, newest_write=won, columns=(cell,))
    assert "13 older commits are not drawn." in row._repr_html_()
    assert len(row.plot().axes[0].texts) == 2 * 8 + 1 + 2 + 8


def test_pictures_have_no_background_and_show_names_as_they_are() -> None:
    for picture in (THINGS[-3].plot(), THINGS[len(RESULTS) + 1].plot(), THINGS[len(RESULTS) + 4].plot()):
        assert picture._repr_png_().startswith(b"\x89PNG")
        assert picture.patch.get_alpha() == 0


# ------------------------------------------------------------------------------------------------- errors


def test_a_pipeline_is_a_table_and_bars() -> None:
    state = PipelineState("shop", "running", "host", 7, AT, AT, 2, 1234, "1,200 rows", "The source is away.")
    assert "<svg" not in state._repr_html_()
    recent = (Recent(AT, 1000, 2.0, 1.0, None), Recent(AT, 234, 1.0, 0.5, 1200))
    html = replace(state, recent=recent, set_aside={"shop.orders": "set aside"})._repr_html_()
    assert "<caption>Pipeline shop</caption>" in html
    assert "<tr><td>last error</td><td>The source is away.</td></tr><tr><td>shop.orders</td><td>set aside</td>" in html
    assert "asked to" not in html
    assert "<caption>the last 2 rounds with rows, 2026-11-01 12:00:00 to 12:00:00 UTC</caption>" in html
    assert "<td>lag, rows</td>" in html
    assert "<td>now 1,200, most 1,200</td>" in html
    assert [html.count(each) for each in ("<svg", "<rect")] == [4, 7], "no bar where the lag is unknown"


def test_an_error_shows_no_lines_of_packages() -> None:
    def of_mine() -> None:
        json.loads("[]", parse_int=kl.BadRows)
        kl.null_rate("spend", below=7)

    with pytest.raises(kl.DefinitionError) as caught:
        of_mine()
    said = caught.value._render_traceback_()
    assert said[0] == "DefinitionError: null_rate('spend', below=7): the limit is a share, above 0 and at most 1."
    assert all(line.startswith("  test_display.py, line ") for line in said[1:])
    assert said[-1].endswith('in of_mine: kl.null_rate("spend", below=7)')


def test_a_gate_shows_its_findings_and_a_trigger_its_cause() -> None:
    assert kl.GateFailed("No.", [FINDING])._render_traceback_()[1] == f"  failed: {FINDING}"
    failure = kl.TriggerFailed("Trigger 'a' failed.")
    failure.__cause__ = ValueError("what was raised")
    assert failure._render_traceback_()[1:] == ["Caused by ValueError: what was raised"]
