"""A lake in a store that speaks S3, with the settings that `keylake server-conf` prints."""

import json
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.fs import FileSelector, S3FileSystem
from typer.testing import CliRunner

import keylake as kl
import keylake.local
from integration.catalogs.conftest import opened_by_spark
from integration.sessions import clone_of
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


class RefusingStore(ThreadingHTTPServer):
    """A way to a store, on which files of some names are answered with a status, and these answers are counted."""

    daemon_threads = True

    def __init__(self, store: str, suffix: str, status: int) -> None:
        super().__init__(("127.0.0.1", 0), _Way)
        self.store = urlsplit(store).netloc
        self.suffix = suffix
        self.status = status
        self.uri = f"http://127.0.0.1:{self.server_address[1]}"
        self.asked = 0

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""


class _Way(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RefusingStore

    def log_message(self, *_: object, **__: object) -> None:
        """Nothing is said."""

    def _passed(self) -> None:
        if self.path.endswith(self.server.suffix):
            self.server.asked += 1
            self._answer(self.server.status, [], b"")
            return
        with closing(HTTPConnection(self.server.store, timeout=60)) as connection:
            connection.request(self.command, self.path, headers=dict(self.headers))
            answer = connection.getresponse()
            self._answer(answer.status, answer.getheaders(), answer.read())

    def _answer(self, status: int, headers: list[tuple[str, str]], body: bytes) -> None:
        of_connection = ("connection", "date", "server", "transfer-encoding")
        passed = {name.lower(): value for name, value in headers if name.lower() not in of_connection}
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | passed).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_HEAD = _passed  # noqa: N815  # names of Python's server


@contextmanager
def refusing(store: str, suffix: str, status: int) -> Iterator[RefusingStore]:
    with RefusingStore(store, suffix, status) as way:
        thread = Thread(target=way.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield way
        finally:
            way.shutdown()
            thread.join()


@contextmanager
def by_way_of(stored: StoredLake, way: RefusingStore) -> Iterator[kl.Lake]:
    """The same lake, whose store is reached by another way."""
    with clone_of(stored.lake, {"spark.sql.catalog.store.s3.endpoint": way.uri}) as session:
        yield kl.connect(spark=session, catalog="store")


@pytest.mark.parametrize(
    ("status", "most", "kind", "words"),
    [
        (403, 1, kl.StoreFailed, "the server may not do so; nothing was changed; correct its keys"),
        (503, 5, kl.Unavailable, "the store does not answer .*503"),
    ],
)
def test_a_store_that_refuses_is_asked_as_often_as_its_client_repeats(
    stored: StoredLake, store: str, status: int, most: int, kind: type[kl.StoreFailed], words: str
) -> None:
    name = f"shop.metadata_{status}"
    table = created(stored, name)
    with refusing(store, ".metadata.json", status) as way, by_way_of(stored, way) as lake:
        calls: list[Callable[[], object]] = [
            lambda: lake.table(name),
            lambda: lake.spark.sql(f"SELECT * FROM store.{name}").collect(),
            lambda: lake.spark.sql(f"DROP TABLE store.{name} PURGE").collect(),
        ]
        for call in calls:
            way.asked = 0
            with pytest.raises(kind, match=words):
                call()
            assert 0 < way.asked <= most
    assert values(table) == {row["id"]: row["a"] for row in ROWS}


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [(403, kl.StoreFailed, "correct its keys"), (503, kl.Unavailable, "the store does not answer")],
)
def test_a_store_that_refuses_files_of_an_open_table(
    stored: StoredLake, store: str, status: int, kind: type[kl.StoreFailed], words: str
) -> None:
    name = f"shop.rows_{status}"
    created(stored, name).update([{"id": 1, "a": 7}], version=2)
    with refusing(store, ".parquet", status) as way, by_way_of(stored, way) as lake:
        table = lake.table(name)
        calls: list[Callable[[], object]] = [
            lambda: table.get(id=1),
            lambda: table.read().collect(),
            lambda: lake.spark.sql(f"SELECT sum(a) FROM store.{name}").collect(),
            lambda: table.compact("full"),
        ]
        for call in calls:
            way.asked = 0
            with pytest.raises(kind, match=words):
                call()
            assert way.asked > 0


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (403, kl.StoreFailed, "The store refuses .*the right keys"),
        (503, kl.Unavailable, "The store does not give .*503"),
    ],
)
@pytest.mark.parametrize("suffix", [".metadata.json", ".avro", ".parquet"])
def test_a_store_that_refuses_a_read_without_a_server(
    stored: StoredLake, store: str, suffix: str, status: int, kind: type[kl.StoreFailed], words: str
) -> None:
    name = f"shop.local_{suffix[1:4]}_{status}"
    created(stored, name)
    with refusing(store, suffix, status) as way:
        properties = {**stored.of_pyiceberg, "s3.endpoint": way.uri}
        with (
            keylake.local.open(properties=properties, catalog="store") as opened,
            pytest.raises(kind, match=words) as raised,
        ):
            opened.table(name).read().to_arrow()
    assert raised.type is kind
    assert way.asked > 0
