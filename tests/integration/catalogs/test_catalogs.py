"""The same catalog opened by Spark and by `keylake.local`: both write, and both give the same rows."""

import os
import pickle
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
import keylake.local
from integration.catalogs.conftest import RestServer, opened_by_spark
from integration.catalogs.lossy_proxy import lossy
from integration.changed_rows import changes_by_key, expected_changes
from integration.histories import Shape, operations
from integration.random_runs import FIRST
from integration.twin import by_key, fresh_name
from keylake.local import catalogs

SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])


def rest(server: RestServer) -> dict[str, str]:
    return {"type": "rest", "uri": server.uri, "token": server.token}


def created(lake: kl.Lake, name: str) -> kl.KeyedTable:
    return lake.create(kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=2))


def write_by_turns(by_spark: kl.Lake, here: keylake.local.LocalLake) -> None:
    """A random history with a write of this process; each reads what the other wrote."""
    twin = Shape("explicit").create(by_spark, fresh_name("shared"))
    table = here.table(twin.table.name)
    for operation in operations(Shape("explicit"), FIRST + 23, count=5, rows=15):
        print(operation)
        operation.apply(twin)
    twin.model.update([{"id": 3, "a": 1}], 20)
    twin.commits.append(table.update([{"id": 3, "a": 1}], version=20))
    twin.check()
    assert twin.table.name in here.tables()
    assert by_key(table.read().to_arrow(), twin.model.key) == twin.expected()
    assert by_key(table.read(at=twin.commits[2]).to_arrow(), twin.model.key) == twin.expected(commits=3)
    feed = table.changes(after=twin.commits[1]).to_arrow()
    assert changes_by_key(twin, feed) == expected_changes(twin, 2, 6)
    assert repr(table.get(id=3)) == repr(twin.table.get(id=3))
    twin.table.compact("full")
    assert by_key(table.read().to_arrow(), twin.model.key) == twin.expected()
    with pytest.raises(kl.TableNotFound, match=r"There is no table shared\.nothing"):
        here.table("shared.nothing")
    by_spark.drop(twin.table.name)
    with pytest.raises(kl.TableNotFound, match="not in the catalog any more"):
        table.get(id=3)
    with pytest.raises(kl.TableNotFound, match="not in the catalog any more"):
        table.update([{"id": 3, "a": 1}], version=21)


@pytest.mark.slow
def test_rest(lake: kl.Lake, rest_server: RestServer) -> None:
    by_spark = opened_by_spark(lake, "rest", rest(rest_server))
    with keylake.local.open(properties=rest(rest_server), catalog="anything") as here:
        write_by_turns(by_spark, here)
        named = created(by_spark, "outer.inner.`a table`").name
        here.table(named).update([{"id": 1, "a": 2}])
        assert repr(by_spark.table(named).get(id=1)) == repr(here.table(named).get(id=1))
        assert named in here.tables()
        made = here.create(replace(here.table(named).spec, name="outer.other.made"))
        by_spark.table(made.name).upsert([{"id": 1, "a": 3}])
        assert repr(made.get(id=1)) == repr(by_spark.table(made.name).get(id=1))
        one, other = (each._plans.table.metadata for each in (made, here.table(named)))
        assert (one.schema(), one.spec(), one.sort_order()) == (other.schema(), other.spec(), other.sort_order())
        moments = {"created-at": ""}  # this server notes the time on tables that are made in two steps, as both are
        assert {**one.properties, **moments} == {**other.properties, **moments}
        pickled = pickle.dumps(made)
        assert rest_server.token.encode() not in pickled
        secret = {"PYICEBERG_CATALOG__ANYTHING__TOKEN": rest_server.token}
        program = "import pickle, sys; print(repr(pickle.load(sys.stdin.buffer).get(id=1)))"
        done = subprocess.run(
            [sys.executable, "-c", program], input=pickled, env=os.environ | secret, capture_output=True, timeout=60
        )
        assert done.stdout.decode().strip() == repr(made.get(id=1)), done.stderr.decode()


def test_metadata_of_a_rest_catalog_is_parsed_once(lake: kl.Lake, rest_server: RestServer) -> None:
    """With an answer that says "not modified", and where the catalog gives the whole answer again."""
    made = created(opened_by_spark(lake, "rest", rest(rest_server)), fresh_name("parsed"))
    with lossy(rest_server.uri) as proxy:
        proxy.gives_tags = True
        for uri in (rest_server.uri, proxy.uri):
            commit = made.update([{"id": 1, "a": 1}])
            catalog = catalogs.opened("anything", rest(rest_server) | {"uri": uri})
            first = catalog.load_table(made.name)
            assert first.metadata.current_snapshot_id == commit.snapshot_id
            assert catalog.load_table(made.name).metadata is first.metadata
            commit = made.update([{"id": 1, "a": 2}])
            assert catalog.load_table(made.name).metadata.current_snapshot_id == commit.snapshot_id
            catalog.close()
    assert proxy.not_modified == 1


def test_answers_of_a_rest_catalog_that_are_lost(lake: kl.Lake, rest_server: RestServer) -> None:
    """What the catalog took is told as taken, once; what it did not take is asked for again."""
    by_spark = opened_by_spark(lake, "rest", rest(rest_server))
    made = created(by_spark, fresh_name("lost"))
    faults = ["before_cut", "before_503", "after_cut", "after_500", "after_503", "after_409", "after_429", "after_401"]
    with lossy(rest_server.uri) as proxy, keylake.local.open(properties=rest(rest_server) | {"uri": proxy.uri}) as here:
        table = here.table(made.name)
        commits = []
        for number, fault in enumerate(faults):
            proxy.lose = fault
            commits.append(table.update([{"id": 1, "a": number}]).snapshot_id)
            assert proxy.lose is None
    assert [each.snapshot_id for each in made.history()] == commits[::-1]
    assert [(row.id, row.a) for row in made.read().collect()] == [(1, len(faults) - 1)]


@pytest.mark.slow
def test_tables_that_a_rest_catalog_makes_without_an_answer(rest_server: RestServer) -> None:
    faults = ["before_cut", "before_429", "before_503", "after_cut", "after_409", "after_429", "after_500", "after_503"]
    with lossy(rest_server.uri) as proxy, keylake.local.open(properties=rest(rest_server) | {"uri": proxy.uri}) as here:
        for number, fault in enumerate(faults):
            new = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("made"), key="id", buckets=2)
            proxy.lose = fault
            table = here.create(new)
            assert proxy.lose is None
            table.update([{"id": 1, "a": number}])
            assert here.table(new.name).read().to_arrow().to_pylist() == [{"id": 1, "a": number}], fault
            with pytest.raises(kl.TableExists):
                here.create(new)


@pytest.mark.slow
def test_writers_at_once_over_rest(lake: kl.Lake, rest_server: RestServer) -> None:
    by_spark = opened_by_spark(lake, "rest", rest(rest_server))
    table = created(by_spark, fresh_name("busy"))

    def here(number: int) -> None:
        with keylake.local.open(properties=rest(rest_server)) as opened:
            for k in range(4):
                opened.table(table.name).update([{"id": 10 * number + k, "a": k}])

    def spark(number: int) -> None:
        for k in range(4):
            table.update([{"id": 10 * number + k, "a": k}])

    with ThreadPoolExecutor(3) as threads:
        for each in [threads.submit(write, number) for number, write in enumerate([here, spark, here])]:
            each.result()
    assert table.read().count() == 12
    versions = [info.versions[0] for info in table.history() if info.versions]
    assert versions == sorted(versions, reverse=True)


@pytest.mark.slow
def test_hive(lake: kl.Lake, hive_metastore: str, tmp_path: Path) -> None:
    by_spark = opened_by_spark(
        lake, "hive", {"type": "hive", "uri": hive_metastore, "warehouse": str(tmp_path / "warehouse")}
    )
    with keylake.local.open(properties={"type": "hive", "uri": hive_metastore}) as here:
        write_by_turns(by_spark, here)


@pytest.mark.slow
def test_jdbc(lake: kl.Lake, warehouse: Path) -> None:
    """The properties of Spark will do, and those of pyiceberg."""
    uri = lake.spark.conf.get("spark.sql.catalog.lake.uri")
    assert uri is not None
    with keylake.local.open(properties={"type": "jdbc", "uri": uri, "jdbc.user": "x"}) as here:
        write_by_turns(lake, here)
    table = created(lake, fresh_name("shared"))
    table.update([{"id": 1, "a": 2}])
    spelled = {"type": "sql", "uri": f"sqlite:///{warehouse}/catalog.db"}
    with keylake.local.open(properties=spelled) as here:
        assert repr(here.table(table.name).get(id=1)) == repr(table.get(id=1))
    with (
        keylake.local.open(properties=spelled, catalog="sea") as here,
        pytest.raises(kl.TableNotFound, match=r"in the catalog 'sea'; its database also has the catalog 'lake'"),
    ):
        here.table(table.name)


SECRET = "hunter2"


@pytest.mark.parametrize(
    ("properties", "kind", "says"),
    [
        ({"type": "rest", "uri": "http://127.0.0.1:9", "token": SECRET}, kl.ServerUnreachable, "http://127.0.0.1:9 "),
        ({"type": "ftp", "uri": "http://a", "token": SECRET}, kl.DefinitionError, "'ftp' is not a valid CatalogType"),
        ({"type": "rest"}, kl.DefinitionError, "Give its type and uri"),
        ({"warehouse": "./lake", "token": SECRET}, kl.DefinitionError, "Give its type and uri"),
        ({"type": "sql", "uri": "sqlite:///nowhere.db"}, kl.TableNotFound, "no file .*nowhere.db"),
        ({"type": "jdbc", "uri": "jdbc:sqlite:nowhere.db"}, kl.TableNotFound, "no file .*nowhere.db"),
        ({"uri": "jdbc:oracle://127.0.0.1:9/lake", "jdbc.user": "me", "jdbc.password": SECRET}, kl.Unsupported,
         "needs a package that is not installed"),
        ({"uri": "jdbc:postgresql://127.0.0.1:9/lake", "jdbc.user": "me", "jdbc.password": SECRET},
         kl.ServerUnreachable, "postgresql://127.0.0.1:9/lake does not answer"),
        ({"uri": f"oracle11://me:{SECRET}@host/db", "type": "sql"}, kl.ServerUnreachable, "oracle11://host/db"),
        ({"type": "hive", "uri": "thrift://127.0.0.1:9"}, kl.ServerUnreachable, "thrift://127.0.0.1:9 "),
        ({"uri": 5}, kl.DefinitionError, r"properties\['uri'\] is 5"),
    ],
)  # fmt: skip
def test_what_does_not_open(properties: Mapping[str, str], kind: type[kl.KeylakeError], says: str) -> None:
    with pytest.raises(kind, match=says) as raised:
        keylake.local.open(properties=properties).tables()
    assert SECRET not in str(raised.value)
    assert "\n" not in str(raised.value)
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_what_is_no_catalog(tmp_path: Path, rest_server: RestServer) -> None:
    with pytest.raises(kl.TableNotFound, match=r"is no lake: it has no file catalog.db"):
        keylake.local.open(tmp_path)
    sqlite3.connect(tmp_path / "catalog.db").close()
    with pytest.raises(kl.TableNotFound, match=r"catalog.db is no catalog: it has no table iceberg_tables"):
        keylake.local.open(tmp_path).tables()
    (tmp_path / "catalog.db").write_text("no database at all, but some text that is longer than its header")
    with pytest.raises(kl.ServerUnreachable, match=r"catalog.db does not answer: .*file is not a database"):
        keylake.local.open(tmp_path).tables()
    with pytest.raises(kl.ServerUnreachable, match=r"does not answer: .*wrong token") as raised:
        keylake.local.open(properties={"type": "rest", "uri": rest_server.uri, "token": SECRET}).tables()
    assert SECRET not in str(raised.value)
