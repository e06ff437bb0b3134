"""Tables as files for an online store: which files, what is in them, and how a stopped publish goes on."""

import json
import zlib
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet
from rocksdict import Options, Rdict

import keylake as kl
from integration.serving.grouped_keys import create, keys_of_all_types
from integration.twin import Twin, fresh_name
from keylake._server.statements import Call

ROWS = 300


@pytest.fixture
def pages(lake: kl.Lake) -> Twin:
    """Three hundred pages in eight buckets and 64 groups, in commits that have to be merged."""
    twin = create(lake, {"page": pa.string()}, 8, 64, "crc32")
    twin.upsert([{"page": f"p{n}", "a": n} for n in range(ROWS)], version=1)
    twin.update([{"page": f"p{n}", "a": -n} for n in range(0, ROWS, 7)], version=2)
    twin.delete([{"page": "p11"}, {"page": "p12"}], version=3)
    return twin


def manifest(target: Path) -> dict[str, Any]:
    found = json.loads((target / "manifest.json").read_text())
    assert isinstance(found, dict)
    return found


def files(target: Path) -> list[str]:
    """The files that a manifest names, in its order."""
    return [str(target / file["file"]) for file in manifest(target)["files"]]


def stored(target: Path) -> list[dict[str, Any]]:
    """All rows of the Parquet files."""
    return [row for file in files(target) for row in parquet.ParquetFile(file).read().to_pylist()]


def store_of(target: Path, folder: Path) -> Rdict:
    """A store of RocksDB that has taken all files."""
    store = Rdict(str(folder), Options(raw_mode=True))
    store.ingest_external_file(files(target))
    return store


def test_a_sorted_file_for_each_group_and_a_manifest(pages: Twin, tmp_path: Path) -> None:
    target = tmp_path / "online"
    done = pages.table.publish_kv(target)
    assert {row["page"]: row["a"] for row in stored(target)} == {
        key[0]: row["a"] for key, row in pages.expected().items()
    }
    assert (done.rows, done.tombstones, done.groups) == (ROWS - 2, 0, 64)
    told = manifest(target)
    assert {path.name for path in target.iterdir()} == {"manifest.json", *(file["file"] for file in told["files"])}
    assert (told["snapshot_id"], told["hash"], told["groups"]) == (pages.commits[-1].snapshot_id, "crc32", 64)
    assert [column["name"] for column in told["columns"]] == ["page", "a"]
    assert len(told["files"]) == done.files
    assert sum(file["bytes"] for file in told["files"]) == done.bytes
    for file in told["files"]:
        path = target / file["file"]
        assert zlib.crc32(path.read_bytes()) == int(file["crc32"], 16)
        rows = parquet.ParquetFile(path).read().to_pylist()
        keys = [row["page"] for row in rows]
        assert keys == sorted(keys)
        assert len(keys) == file["rows"]
        assert {pages.table.spec.group_of(key) for key in keys} == {file["group"]}
        assert {row["_group"] for row in rows} == {file["group"]}


def test_only_what_changed_with_tombstones(pages: Twin, tmp_path: Path) -> None:
    before = pages.commits[-1]
    pages.update([{"page": "p1", "a": 1000}, {"page": "new", "a": 5}, {"page": "p2", "a": 2}], version=9)
    pages.delete([{"page": "p3"}, {"page": "never"}], version=9)
    done = pages.table.publish_kv(tmp_path / "changed", after=before)
    rows = {row["page"]: (row["a"], row["_deleted"]) for row in stored(tmp_path / "changed")}
    assert rows == {"p1": (1000, False), "new": (5, False), "p3": (None, True)}
    assert (done.rows, done.tombstones) == (2, 1)
    nothing = pages.table.publish_kv(tmp_path / "nothing", after=pages.commits[-1])
    assert (nothing.files, nothing.rows, manifest(tmp_path / "nothing")["files"]) == (0, 0, [])
    past = pages.table.publish_kv(tmp_path / "past", at=before)
    assert past.snapshot_id == before.snapshot_id
    assert {row["page"]: row["a"] for row in stored(tmp_path / "past")}["p3"] == 3


def test_a_table_without_groups_has_its_buckets(lake: kl.Lake, tmp_path: Path) -> None:
    columns = [("id", pa.int64()), ("day", pa.date32()), ("clicks", pa.int64()), ("spend", pa.float64())]
    spec = kl.TableSpec.from_arrow(pa.schema(columns), name=fresh_name("publish_kv"), key=["id", "day"], buckets=4)
    table = lake.create(spec)
    keys = [{"id": n, "day": date(2026, 1, 1)} for n in range(-20, 20)]
    first = table.upsert([key | {"clicks": 1, "spend": None} for key in keys])
    table.delete(keys[:3])
    done = table.publish_kv(str(tmp_path / "all"), columns="clicks")
    assert (done.groups, done.files, done.rows) == (4, 4, 37)
    assert all(row["_group"] == spec.bucket_of(row["id"], row["day"]) for row in stored(tmp_path / "all"))
    assert set(stored(tmp_path / "all")[0]) == {"id", "day", "_group", "clicks"}
    before = table.publish_kv(tmp_path / "before", at=first, format="rocksdb")
    changed = table.publish_kv(tmp_path / "changed", after=first, format="rocksdb")
    assert (before.rows, changed.rows, changed.tombstones) == (40, 0, 3)
    store = store_of(tmp_path / "before", tmp_path / "store")
    store.ingest_external_file(files(tmp_path / "changed"))
    assert set(store.keys()) == {kl.kv_key(spec, *key.values()) for key in keys[3:]}


def test_buckets_that_are_on_their_way_are_not_published_as_groups(lake: kl.Lake, tmp_path: Path) -> None:
    schema = pa.schema([pa.field("id", pa.int64(), nullable=False), ("a", pa.int64())])
    spec = kl.TableSpec.from_arrow(schema, name=fresh_name("kv"), key="id", versions="commit", buckets=2)
    table = lake.create(spec)
    table.upsert([{"id": n, "a": n} for n in range(20)])
    table.change_buckets(4)
    with pytest.raises(kl.Unsupported, match=r"has 4 buckets, and files from when there were 2.*rebucket\(\)"):
        table.publish_kv(tmp_path / "online")
    table.rebucket()
    assert table.publish_kv(tmp_path / "online").rows == 20
    rows = parquet.ParquetFile(files(tmp_path / "online")[0]).read().to_pylist()
    assert {table.spec.bucket_of(row["id"]) for row in rows} == {manifest(tmp_path / "online")["files"][0]["group"]}


def test_rocksdb_takes_the_files_and_finds_every_key(pages: Twin, tmp_path: Path) -> None:
    done = pages.table.publish_kv(tmp_path / "sst", format="rocksdb")
    store = store_of(tmp_path / "sst", tmp_path / "store")
    found = {key.decode(): json.loads(value)["a"] for key, value in store.items()}
    assert found == {key[0]: row["a"] for key, row in pages.expected().items()}
    assert done.rows == len(found)
    before = pages.commits[-1]
    pages.delete([{"page": "p5"}], version=9)
    pages.update([{"page": "p6", "a": 66}], version=9)
    pages.table.publish_kv(tmp_path / "later", format="rocksdb", after=before)
    store.ingest_external_file(files(tmp_path / "later"))
    assert store.get(b"p5") is None
    assert json.loads(store[b"p6"]) == {"a": 66}


def test_keys_of_all_types_keep_their_order_as_bytes(lake: kl.Lake, tmp_path: Path) -> None:
    types, keys = keys_of_all_types()
    twin = create(lake, types, 2, 2, "murmur3_128")
    twin.upsert([key | {"a": number} for number, key in enumerate(keys)], version=1)
    twin.table.publish_kv(tmp_path / "sst", format="rocksdb")  # RocksDB refuses keys that do not ascend
    found = {key: json.loads(value)["a"] for key, value in store_of(tmp_path / "sst", tmp_path / "store").items()}
    assert found == {kl.kv_key(twin.table.spec, *key.values()): number for number, key in enumerate(keys)}


def test_values_of_many_types_as_json(lake: kl.Lake, tmp_path: Path) -> None:
    types = {
        "t": pa.timestamp("us", tz="UTC"), "d": pa.decimal128(20, 3), "b": pa.binary(), "f": pa.float64(),
        "l": pa.list_(pa.int64()), "s": pa.struct([("x", pa.string())]), "n": pa.string(),
    }  # fmt: skip
    row = {
        "t": datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC), "d": Decimal("1.250"), "b": b"\0\1", "f": 0.5, "l": [1, 2],
        "s": {"x": "é"}, "n": None,
    }  # fmt: skip
    schema = pa.schema([("id", pa.int64()), *types.items()])
    table = lake.create(kl.TableSpec.from_arrow(schema, name=fresh_name("publish_kv"), key="id"))
    table.upsert([{"id": 1} | row])
    table.publish_kv(tmp_path / "sst", format="rocksdb")
    ((key, value),) = store_of(tmp_path / "sst", tmp_path / "store").items()
    assert key == kl.kv_key(table.spec, 1)
    assert json.loads(value) == {
        "t": "2026-01-02T03:04:05.000006Z", "d": 1.25, "b": "AAE=", "f": 0.5, "l": [1, 2], "s": {"x": "é"}, "n": None,
    }  # fmt: skip


def test_a_publish_that_was_stopped_goes_on_with_what_is_left(pages: Twin, tmp_path: Path) -> None:
    whole, target = tmp_path / "whole", tmp_path / "stopped"
    done = pages.table.publish_kv(whole)
    told = manifest(whole)
    # As it lies there when the fourth of eight tasks was killed: three buckets are done, one is half written.
    (target / "_progress").mkdir(parents=True)
    (target / "_publish.json").write_text(json.dumps(told | {"files": []}))
    (target / "_writing-1234").write_bytes(b"half")
    for bucket in range(3):
        of_bucket = [file for file in told["files"] if file["group"] * 8 // 64 == bucket]
        (target / "_progress" / f"bucket={bucket:06}.json").write_text(json.dumps(of_bucket))
        for file in of_bucket:
            (target / file["file"]).write_bytes(b"was there")
    with pytest.raises(kl.DefinitionError, match=r"holds the beginning of snapshot .* publish just that to finish it"):
        pages.table.publish_kv(target, columns=[])
    again = pages.table.publish_kv(target)
    assert (again.files, again.rows) == (done.files, done.rows)
    assert manifest(target) == told
    assert {path.name for path in target.iterdir()} == {path.name for path in whole.iterdir()}
    for file in told["files"]:
        kept = file["group"] * 8 // 64 < 3
        assert ((target / file["file"]).read_bytes() == b"was there") == kept


def test_a_publish_that_is_done_is_not_done_again(pages: Twin, tmp_path: Path) -> None:
    done = pages.table.publish_kv(tmp_path / "online")
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "online").iterdir()}
    again = pages.table.publish_kv(tmp_path / "online")
    assert (again.files, again.rows, again.bytes) == (done.files, done.rows, done.bytes)
    assert {path.name: path.stat().st_mtime_ns for path in (tmp_path / "online").iterdir()} == before
    for other in ({"columns": []}, {"format": "rocksdb"}, {"after": pages.commits[0]}):
        with pytest.raises(kl.DefinitionError, match=r"already snapshot \d+ of table .*take another target"):
            pages.table.publish_kv(tmp_path / "online", **other)  # type: ignore[arg-type]


def test_what_cannot_be_published(lake: kl.Lake, pages: Twin, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("mine")
    with pytest.raises(kl.DefinitionError, match="is not empty, and what it holds was not published"):
        pages.table.publish_kv(tmp_path / "mine")
    with pytest.raises(kl.DefinitionError, match="ormat is 'csv'; it must be one of parquet, rocksdb"):
        pages.table.publish_kv(tmp_path / "new", format="csv")  # type: ignore[arg-type]
    with pytest.raises(kl.SchemaMismatch, match=r"olumn 'b' is not in the table; its columns are \[page, a\]"):
        pages.table.publish_kv(tmp_path / "new", columns=["b"])
    with pytest.raises(kl.TableNotFound, match="no snapshot 17"):
        pages.table.publish_kv(tmp_path / "new", at=17)
    columns = pa.schema([("id", pa.int64()), ("day", pa.date32()), ("a", pa.int64())])
    words: dict[str, Any] = {"key": ["id", "day"], "partition_by": "day", "bucket_by": "id"}
    table = lake.create(kl.TableSpec.from_arrow(columns, name=fresh_name("publish_kv"), **words))
    with pytest.raises(kl.TableNotFound, match="no commit yet"):
        table.publish_kv(tmp_path / "new")
    table.upsert([{"id": 1, "day": date(2026, 1, 1), "a": 1}])
    with pytest.raises(kl.Unsupported, match=r"is partitioned by \[day\]"):
        table.publish_kv(tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_anybody_can_call_it_in_sql(lake: kl.Lake, pages: Twin, tmp_path: Path) -> None:
    arguments = f"table => '{pages.table.name}', target => '{tmp_path}/sql', columns => '`a`'"
    row = lake.spark.sql(f"CALL {lake.catalog}.system.publish_kv({arguments})").collect()[0]
    assert row["rows"] == ROWS - 2


@pytest.mark.parametrize("target", ["nope://bucket/pages", "s3://bucket/pages"])
def test_a_store_that_the_server_does_not_know_is_refused(pages: Twin, target: str) -> None:
    with pytest.raises(kl.DefinitionError, match=f"arget '{target}' is in a store that this server does not know"):
        pages.table.publish_kv(target)


def test_a_target_that_is_a_file_is_told(pages: Twin, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(kl.StoreFailed, match=r"othing was published to .*file.*what was published before is as it was"):
        pages.table.publish_kv(tmp_path / "file")


def test_a_place_in_the_folder_of_the_server_is_refused(lake: kl.Lake, pages: Twin) -> None:
    """Whoever calls from another process means a place of his own; the SDK makes it whole."""
    call = Call.of("publish_kv", pages.table._handle.path, target="pages")
    with pytest.raises(kl.DefinitionError, match=r"arget .pages. is no whole path; give one such as"):
        lake._session.call(call)
    assert not Path("pages").exists()
