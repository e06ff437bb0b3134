"""Writes that a session stages (Iceberg's write-audit-publish): refused, so that none is published without a word."""

from collections.abc import Callable
from pathlib import Path

import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql, snapshots
from integration.schema.evolving import Evolving

STATEMENTS = (
    "INSERT INTO {t} VALUES (51, 51)",
    "INSERT OVERWRITE {t} VALUES (51, 51)",
    "UPDATE {t} SET v = 7 WHERE id = 1",
    "DELETE FROM {t} WHERE id = 1",
    "DELETE FROM {t}",
    "TRUNCATE TABLE {t}",
    "MERGE INTO {t} t USING (SELECT 1 AS id, 8 AS v) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET *",
)
VERBS: tuple[Callable[[kl.KeyedTable], object], ...] = (
    lambda t: t.upsert([{"id": 1, "v": 7}]),
    lambda t: t.delete([{"id": 1}]),
    lambda t: t.overwrite([{"id": 1, "v": 7}]),
    lambda t: t.upsert(t.read()),
)


@pytest.mark.parametrize("setting", ["spark.wap.id", "spark.wap.branch"])
def test_no_write_is_published(lake: kl.Lake, tmp_path: Path, setting: str) -> None:
    table = Evolving(lake, "id INT, v INT, PRIMARY KEY (id)", "'versions' = 'explicit', 'write.wap.enabled' = 'true'")
    keyed, conf = table.table, lake.spark.conf
    keyed.upsert([{"id": 1, "v": 1}], version=1)
    free = Evolving(lake, "id INT, v INT, PRIMARY KEY (id)", "'versions' = 'commit', 'write.wap.enabled' = 'true'")
    free.run("INSERT INTO {t} VALUES (1, 1)")
    other = Evolving(lake, "id INT, v INT, PRIMARY KEY (id)")
    arriving = lake.spark.readStream.schema("id INT, v INT").json(str(tmp_path))
    (tmp_path / "rows.json").write_text('{"id": 2, "v": 2}\n')
    said = f"{setting} is 'staged'"
    conf.set(setting, "staged")
    try:
        for statement in STATEMENTS:
            with refused_in_sql(lake, free.name, "UNSUPPORTED", said):
                free.run(statement)
        for verb in VERBS:
            with refused(lake, free.name, kl.Unsupported, said, "branch"):
                verb(free.table)
        before = snapshots(lake, free.name)
        with pytest.raises(kl.KeylakeError, match="staged"):
            free.table.stream(arriving, checkpoint=str(tmp_path / "c"), available_now=True).wait()
        assert snapshots(lake, free.name) == before
        other.run("INSERT INTO {t} VALUES (1, 1)")  # a table that does not stage is written as always
    finally:
        conf.unset(setting)
    free.run("INSERT INTO {t} VALUES (2, 2)")
    assert free.rows() == [(1, 1), (2, 2)]
