"""A lake in a store that speaks S3, with the settings that `keylake server-conf` prints."""

import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from threading import Thread
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector, S3FileSystem
from typer.testing import CliRunner

import keylake as kl
import keylake.local
from integration.catalogs.conftest import opened_by_spark
from keylake.cli.app import app

MOTO = Path(__file__).parents[3] / ".build/moto"
KEYS = {"s3.access-key-id": "reader", "s3.secret-access-key": "very secret"}
SCHEMA = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
ROWS = [{"id": number, "a": number * 2} for number in range(100)]

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def store() -> Iterator[str]:
    """The address of a store with the bucket `lake`."""
    command = [MOTO / "bin/moto_server", "--host", "127.0.0.1", "--port", "0"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stderr is not None
            address = next(line.split()[-1] for line in process.stderr if "Running on" in line)
            Thread(target=process.stderr.read, daemon=True).start()
            with urlopen(Request(f"{address}/lake", method="PUT")):  # our own store
                yield address
        finally:
            process.terminate()


@dataclass(frozen=True)
class StoredLake:
    """A lake in the store, and the properties of its catalog, as pyiceberg knows them."""

    lake: kl.Lake
    of_pyiceberg: Mapping[str, str]


@pytest.fixture(scope="module")
def stored(store: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoredLake]:
    """A server with the settings that `keylake server-conf` prints."""
    folder = tmp_path_factory.mktemp("store")
    words = ["--catalog-type", "jdbc", "--uri", f"jdbc:sqlite:{folder}/catalog.db", "--warehouse", "s3://lake/tables"]
    words += ["--store", "s3", "--endpoint", store, "--region", "us-east-1", "--catalog", "store", "--json"]
    printed = json.loads(CliRunner().invoke(app, ["server-conf", *words]).stdout)
    prefix = "spark.sql.catalog.store."
    of_catalog = {name[len(prefix) :]: value for name, value in printed.items() if name.startswith(prefix)} | KEYS
    (bundle,) = MOTO.glob("iceberg-aws-bundle-*.jar")
    assert printed["spark.jars.packages"] == f"org.apache.iceberg:{bundle.stem.replace('bundle-', 'bundle:')}"
    with kl.connect(
        warehouse=folder / "own", memory="1g", settings={"spark.driver.extraClassPath": str(bundle)}
    ) as own:
        lake = opened_by_spark(own, "store", of_catalog)
        of_pyiceberg = {
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": "s3://lake/tables",
            "s3.endpoint": store,
            "s3.region": "us-east-1",
            **KEYS,
        }
        yield StoredLake(lake, of_pyiceberg)


def created(stored: StoredLake, name: str) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=name, key="id", buckets=2, versions="explicit")
    table = stored.lake.create(spec)
    table.upsert(ROWS, version=1)
    return table


def values(table: kl.KeyedTable) -> dict[int, int]:
    return {row.id: row.a for row in table.read().collect()}


def test_verbs_of_a_table_in_a_store(stored: StoredLake, store: str) -> None:
    table = created(stored, "shop.verbs")
    table.update([{"id": 1, "a": 7}], version=2)
    table.delete([{"id": 2}], version=2)
    expected = {row["id"]: row["a"] for row in ROWS} | {1: 7}
    del expected[2]
    assert values(table) == expected
    with keylake.local.open(properties=stored.of_pyiceberg, catalog="store") as opened:
        local = opened.table("shop.verbs")
        assert {row["id"]: row["a"] for row in local.read().to_arrow().to_pylist()} == expected
        local.update([{"id": 3, "a": 9}], version=3)
        found = local.get(id=3)
        assert found is not None
        assert found.model_dump()["a"] == 9
    table.compact("full")
    table.clean()
    assert values(table) == expected | {3: 9}
    assert table.health().to_do == ()


def test_files_for_an_online_store_are_published_there(stored: StoredLake, store: str) -> None:
    table = created(stored, "shop.online")
    target = "s3://lake/online/first"
    done = table.publish_kv(target)
    files = S3FileSystem(access_key="reader", secret_key="very secret", endpoint_override=store, region="us-east-1")
    manifest = json.loads(files.open_input_stream("lake/online/first/manifest.json").read())
    published = [file["file"] for file in manifest["files"]]
    there = {file.base_name for file in files.get_file_info(FileSelector("lake/online/first", recursive=True))}
    assert there == {"manifest.json", *published}
    rows = [
        row for file in published for row in pq.read_table(f"lake/online/first/{file}", filesystem=files).to_pylist()
    ]
    assert {row["id"]: row["a"] for row in rows} == {row["id"]: row["a"] for row in ROWS}
    assert replace(table.publish_kv(target), seconds=done.seconds) == done
    table.update([{"id": 1, "a": 7}], version=2)
    with pytest.raises(kl.DefinitionError, match="holds already snapshot"):
        table.publish_kv(target)
