"""How a table is doing: figures of tables whose state is known, what is to be done, the picture and the page."""

import re
from datetime import datetime, timezone
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.twin import fresh_name

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("v", pa.int64()), ("text", pa.string())])


def at(hour: int) -> datetime:
    return datetime(2026, 11, 1, hour, tzinfo=timezone.utc)


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    """A base and five updates of a tenth of it, by two streams, with nobody who compacts."""
    made = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("health"), key=["id"], buckets=4))
    rows = lake.spark.range(0, 20_000, 1, 2).selectExpr("id", "id AS v", "sha2(string(id), 256) AS text")
    made.upsert(rows, stream="base")
    for number in range(5):
        made.upsert(rows.where(f"id % 10 = {number % 2}"), stream="web", watermark=at(number))
    return made


@pytest.mark.slow
def test_figures_before_and_after_a_compaction(table: kl.KeyedTable) -> None:
    assert not any("to be compacted" in sentence for sentence in table.health().to_do), "commits are recent and small"
    table.set_compaction_policy(kl.CompactionPolicy(recent_seconds=0))
    before = table.health()
    table.compact("full")
    after = table.health()
    assert (before.reads.rows, after.reads.rows) == (30_000, 20_000)
    assert before.reads.merged == before.reads.bytes
    assert 5 < before.reads.read_amplification <= 6
    assert (after.reads.share_merged, after.reads.read_amplification) == (0, 1)
    assert before.storage_amplification == pytest.approx(1)
    assert 2 < after.storage_amplification < 4
    assert [bucket.depth for bucket in before.buckets] == [6] * 4
    assert 1 <= before.skew < 1.2
    assert any("to be compacted" in sentence for sentence in before.to_do)
    assert not any("compact" in sentence for sentence in after.to_do)
    streams = {each.stream: each for each in after.streams}
    assert {name: (each.commits, each.rows) for name, each in streams.items()} == {
        "base": (1, 20_000),
        "web": (5, 10_000),
    }
    assert streams["web"].watermark == datetime(2026, 11, 1, 4, tzinfo=timezone.utc)
    assert streams["web"].late_by == after.at - datetime(2026, 11, 1, 4, tzinfo=timezone.utc)
    assert streams["web"].latest_row_by is None, "versions of this table are no times"
    assert [len(each.over_time) for each in (before, after)] == [6, 6 + len(after.commits) - len(before.commits)]
    assert [each.at for each in after.over_time] == [each.at for each in after.commits][::-1]
    assert [each.reads for each in before.over_time] == pytest.approx([1, 2, 3, 4, 5, 6], abs=0.25)
    assert (after.over_time[5].storage, after.over_time[-1].reads) == (1.0, 1.0)
    assert after.over_time[-1].storage == pytest.approx(after.storage_amplification, rel=0.02)
    (tier,) = before.tiers
    assert (tier.below, tier.runs, tier.bytes) == (2**20, 24, before.reads.bytes)
    assert "30,000 stored rows" in str(before)
    assert "all is well" in str(after) or after.to_do


@pytest.mark.slow
def test_late_rows_and_expired_commits(lake: kl.Lake) -> None:
    schema = SCHEMA.append(pa.field("at", pa.timestamp("us", tz="UTC")))
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("health"), key=["id"], ordering="at", buckets=1)
    made = lake.create(spec)
    for hour in (3, 1, 2):
        made.update([{"id": hour, "at": at(hour), "v": 1}], stream="web")
    health = made.health()
    (web,) = health.streams
    oldest, latest = health.commits[-1], health.commits[1]
    assert web.latest_row_by == latest.at - at(1) > oldest.at - at(3)
    assert len(health.over_time) == 3
    made.clean(kl.RetentionPolicy(days=0))
    kept = made.health()
    assert (len(kept.commits), [each.storage for each in kept.over_time]) == (1, [1.0])
    assert "fewer than two commits" in kept.plot().axes[3].texts[0].get_text()


def test_an_empty_table_and_a_branch(lake: kl.Lake) -> None:
    made = lake.create(kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("health"), key=["id"]))
    empty = made.health()
    assert (empty.reads.bytes, empty.reads.share_merged, empty.skew, empty.streams, empty.to_do) == (
        0,
        0.0,
        1.0,
        (),
        (),
    )
    made.upsert([{"id": 1, "v": 1, "text": None}])
    draft = made.branch("tmp_try")
    draft.upsert([{"id": 1, "v": 2, "text": None}])
    assert (made.health().reads.rows, draft.health().reads.rows) == (1, 2)


@pytest.mark.slow
def test_the_picture_and_the_page(table: kl.KeyedTable, tmp_path: Path) -> None:
    health = table.health()
    assert len(health.plot().axes) == 6
    table.branch("tmp_side").update([{"id": 1, "v": 1}], stream="side")
    table.branch("tmp_as_main")
    (commits,) = table.history().plot().axes
    assert [each.get_text() for each in commits.get_yticklabels()] == ["base", "web", "branch tmp_side"]
    with pytest.raises(kl.StoreFailed, match="No such file or directory"):
        health.report(tmp_path / "none" / "health.html")
    page = health.report(tmp_path / "health.html").read_text()
    assert page.count("<svg") == 6
    assert "currentColor" in page, "it has the colours of a light or dark page"
    assert f"Health of {table.name}" in page
    outside = set(re.findall(r"""(?:src|href)=["']([^"'#]+)""", page)) - {""}
    assert not {each for each in outside if not each.startswith("http://www.w3.org")}, "it needs no other file"
    assert "<script" not in page
