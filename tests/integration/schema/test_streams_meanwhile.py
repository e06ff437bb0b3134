"""Columns change while streaming queries write."""

import json
from itertools import cycle
from pathlib import Path

import pytest
from pyspark.sql.streaming import StreamingQuery

import keylake as kl
from integration.schema.evolving import Evolving

STREAMS = 4
CHANGES = (
    "ALTER TABLE {t} ADD COLUMN extra_%d INT",
    "ALTER TABLE {t} ALTER COLUMN moving AFTER s%d",
    "ALTER TABLE {t} RENAME COLUMN extra_%d TO renamed_%d",
    "ALTER TABLE {t} ALTER COLUMN renamed_%d TYPE BIGINT",
    "ALTER TABLE {t} ALTER COLUMN moving COMMENT 'change %d'",
    "ALTER TABLE {t} DROP COLUMN renamed_%d",
)


@pytest.mark.parametrize(("changes", "batches"), [(6, 2), pytest.param(200, 40, marks=pytest.mark.slow)])
def test_four_streams_go_on(lake: kl.Lake, tmp_path: Path, changes: int, batches: int) -> None:
    """Each stream writes a column of its own for the same keys; none of them fails, and no value is lost."""
    own = ", ".join(f"s{stream} BIGINT" for stream in range(STREAMS))
    table = Evolving(lake, f"id BIGINT PRIMARY KEY, {own}, moving STRING", rest="CLUSTERED BY (id) INTO 2 BUCKETS")
    queries = [_started(table, stream, batches, tmp_path / f"s{stream}") for stream in range(STREAMS)]
    for number, change in zip(range(changes), cycle(CHANGES), strict=False):
        which = number % STREAMS if "AFTER" in change else number // len(CHANGES)
        table.run(change.replace("%d", str(which)))
    for query in queries:
        assert query.awaitTermination(600)
        assert query.exception() is None
    expected = [(key, *(key * 10 + stream for stream in range(STREAMS))) for key in range(2 * batches)]
    assert table.rows(f"SELECT id, {', '.join(f's{stream}' for stream in range(STREAMS))} FROM {{t}}") == sorted(
        expected, key=repr
    )
    assert len(table.table.history(at_most=1000)) == STREAMS * batches


def _started(table: Evolving, stream: int, batches: int, folder: Path) -> StreamingQuery:
    """A query over files that are there: two rows in each, and each is a batch."""
    folder.mkdir()
    for batch in range(batches):
        rows = ({"id": key, f"s{stream}": key * 10 + stream} for key in (2 * batch, 2 * batch + 1))
        (folder / f"{batch:04}.json").write_text("\n".join(map(json.dumps, rows)))
    source = table.lake.spark.readStream.schema(f"id BIGINT, s{stream} BIGINT").option("maxFilesPerTrigger", 1)
    writer = source.json(str(folder)).writeStream.option("checkpointLocation", str(folder.with_suffix(".checkpoint")))
    return writer.trigger(availableNow=True).toTable(table.sql)
