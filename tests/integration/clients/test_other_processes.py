"""Handles of tables that go to another process, which opens them again; no secret goes with them."""

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from pyiceberg.catalog.sql import SqlCatalog

import keylake as kl
import keylake.local
from integration.twin import fresh_name
from keylake.local.parquet import ParquetFiles
from keylake.local.reopening import Place


class Score(kl.Table, name="elsewhere.score", buckets=2):
    """Rows that two processes read."""

    user: int = kl.key()
    points: int | None = kl.column()


PROGRAM = """
import pickle, sys
for name in sys.argv[1:]:
    table = pickle.loads(open(name, "rb").read())
    print(type(table.get(user=1)).__name__, table.get(user=1).points, repr(table))
"""


def elsewhere(*pickled: Path, **environment: str) -> list[str]:
    """The lines of a process that opens pickled tables."""
    kept = {name: value for name, value in os.environ.items() if name not in ("KEYLAKE_TOKEN", "SPARK_REMOTE")}
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), *sys.path]))
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *pickled],
        env={**kept, "PYTHONPATH": path, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.slow
def test_a_table_of_a_server_goes_with_its_address(
    lake: kl.Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert lake._server is not None
    token, name = lake._server._token, fresh_name("elsewhere")
    monkeypatch.setenv("KEYLAKE_TOKEN", token)
    with kl.connect(f"sc://localhost:{lake._server.port}", writer="eva") as other:
        table = other.create(replace(Score.table_spec(), name=name))
        table.upsert([{"user": 1, "points": 10}])
        draft = table.branch("tmp_other")
        draft.update([{"user": 1, "points": 11}])
        for number, each in enumerate((table, draft)):
            pickled = pickle.dumps(each)
            assert token.encode() not in pickled
            (tmp_path / f"{number}").write_bytes(pickled)
        again = pickle.loads(pickle.dumps(table))
        assert (again.spec, again.get(user=1)["points"]) == (table.spec, 10)
        again.update([{"user": 1, "points": 12}])
        made = type(again.get(user=1)).__name__
        assert table.history()[0].writer == "eva"
    found = elsewhere(tmp_path / "0", tmp_path / "1", KEYLAKE_TOKEN=token)
    assert found == [f"{made} 12 KeyedTable({name!r})", f"{made} 11 KeyedTable({name!r}, branch 'tmp_other')"]


def test_a_table_of_a_server_of_this_process_stays(lake: kl.Lake) -> None:
    table = lake.create(Score, if_exists="match")
    with pytest.raises(kl.Unsupported, match=r"started by this process.*keylake serve"):
        pickle.dumps(table)
    with kl.connect(spark=lake.spark) as attached, pytest.raises(kl.Unsupported, match="opened by somebody else"):
        pickle.dumps(attached.table(Score))


@pytest.mark.slow
def test_a_table_without_a_server_goes_with_its_catalog(tmp_path: Path) -> None:
    with keylake.local.open(":memory:") as lake:
        named = lake.create(Score)
        named.upsert([Score(user=1, points=10)])
        opened = lake.table("elsewhere.score")
        for number, each in enumerate((opened, named)):
            (tmp_path / f"{number}").write_bytes(pickle.dumps(each))
        assert elsewhere(tmp_path / "0") == ["Score 10 LocalTable('elsewhere.score')"]
        first, other, whole = (pickle.loads(pickle.dumps(each)) for each in (named, opened, lake))
        assert first.get(user=1) == Score(user=1, points=10) == whole.table(Score).get(user=1)
        assert first._parquet is other._parquet
        lake._catalog.drop_table("elsewhere.score")
        with pytest.raises(kl.TableNotFound, match="not in the catalog 'lake' any more"):
            pickle.loads(pickle.dumps(named))


def test_a_pickle_of_a_catalog_has_no_secret(tmp_path: Path) -> None:
    properties = {
        "uri": f"sqlite:///{tmp_path}/catalog.db",
        "s3.secret-access-key": "hidden-1",
        "token": "hidden-2",
        "header.X-Key": "hidden-3",
        "s3.region": "eu-north-1",
    }
    catalog = SqlCatalog("lake", **properties)
    catalog.properties["uri"] = "postgresql+psycopg2://eva:hidden-4@db.internal/lake"
    place = Place.of(catalog, ParquetFiles(1 << 20))
    assert b"hidden" not in pickle.dumps(place)
    assert dict(place.properties)["uri"] == "postgresql+psycopg2://eva@db.internal/lake"
    assert dict(place.properties)["s3.region"] == "eu-north-1"
    catalog.close()
