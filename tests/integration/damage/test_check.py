"""`check`, `repair_plan` and `repair`: each kind of damage is named with its file, and files come back from a copy."""

import json
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name

ROWS = [{"id": number, "a": number * 7919 % 100003, "t": f"text {number % 50}"} for number in range(400)]
SCHEMA = pa.schema([("id", pa.int64()), ("a", pa.int64()), ("t", pa.string())])


@pytest.fixture
def table(lake: kl.Lake) -> kl.KeyedTable:
    spec = kl.TableSpec.from_arrow(SCHEMA, name=fresh_name("checked"), key="id", buckets=2, versions="explicit")
    table = lake.create(spec)
    table.upsert(ROWS, version=1, stream="web")
    return table


@pytest.fixture
def folder(warehouse: Path, table: kl.KeyedTable) -> Path:
    return warehouse.joinpath(*table.name.split("."))


@pytest.fixture
def copy(folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(folder, tmp_path / "copy")


def data_files(folder: Path) -> list[Path]:
    """The data files by their age, without the checksums that Hadoop puts beside them, and no store does."""
    files = sorted(folder.joinpath("data").rglob("*.parquet"), key=lambda path: (path.stat().st_mtime_ns, str(path)))
    for file in folder.rglob(".*.crc"):
        file.unlink()
    return files


def flip_page(file: Path, column: str) -> None:
    """Flips a bit near the end of the pages of a column."""
    chunks = pq.read_metadata(file).row_group(0)
    (chunk,) = (each for at in range(chunks.num_columns) if (each := chunks.column(at)).path_in_schema == column)
    content = bytearray(file.read_bytes())
    content[(chunk.dictionary_page_offset or chunk.data_page_offset) + chunk.total_compressed_size - 3] ^= 4
    file.write_bytes(content)


def found(report: kl.CheckReport) -> list[tuple[str, str]]:
    return [(each.kind, Path(each.path).name) for each in report.damage]


def test_a_whole_table_is_ok(table: kl.KeyedTable) -> None:
    table.upsert(ROWS[:10], version=2)
    table.compact("settle")
    report = table.check("pages")
    assert report.is_ok
    assert report.readable_buckets == ("0", "1")
    assert {each.kind for each in report.looked_at} == {"metadata", "manifest_list", "manifest", "data", "deletes"}
    assert str(report).startswith(f"{table.name}: all is well (pages)\n")
    assert table.repair_plan().steps == ()


@pytest.mark.slow
def test_each_damage_of_a_file_is_named_and_a_copy_repairs_it(table: kl.KeyedTable, folder: Path, copy: Path) -> None:
    file, other = data_files(folder)
    good, elsewhere = file.read_bytes(), other.read_bytes()
    for content, kind in (
        (None, "missing"),
        (good[:-30], "truncated"),
        (good + b"more", "wrong_size"),
        (good[:-20] + bytes(12) + good[-8:], "footer"),
        (elsewhere[: len(good)].ljust(len(good), b"-"), "footer"),
    ):
        file.unlink() if content is None else file.write_bytes(content)
        report = table.check()
        assert [(name in (kind, "checksum"), path) for name, path in found(report)] == [(True, file.name)], kind
        (damage,) = report.damage
        assert damage.branches == ("main",)
        assert damage.rows == report.unreadable_rows > 0
        assert damage.buckets == report.damaged_buckets
        assert set(report.readable_buckets) == {"0", "1"} - set(damage.buckets)
        plan = table.repair_plan(copy=copy)
        assert [step.way for step in plan.steps] == ["put_back"]
        assert [each.repaired for each in table.repair(plan)] == [True]
        assert file.read_bytes() == good
    assert table.check("pages").is_ok
    assert table.read().count() == len(ROWS)


@pytest.mark.slow
def test_damage_of_a_page_leaves_other_columns_and_buckets_readable(table: kl.KeyedTable, folder: Path) -> None:
    file, other = data_files(folder)
    flip_page(file, "t")
    assert table.check().is_ok  # no page is read
    report = table.check("pages")
    assert (*found(report), report.damaged_columns) == (("checksum", file.name), ("t",))
    assert len(table.read(columns=["a"]).collect()) == len(ROWS)
    whole = pq.read_table(other, columns=["id"]).column("id").to_pylist()
    assert len(table.get_many([{"id": id_} for id_ in whole])) == len(whole)
    (step,) = table.repair_plan("pages").steps
    assert (step.way, step.bucket, step.stream) == ("drop_files", report.damaged_buckets[0], "web")
    assert step.rows == report.unreadable_rows
    table._handle.session.spark.sql(step.statements[0]).collect()
    assert table.read().count() == len(ROWS) - (step.rows or 0)
    table.upsert(ROWS, version=1)
    assert table.read().count() == len(ROWS)


@pytest.mark.slow
def test_what_a_compaction_has_merged_comes_back_from_its_inputs(table: kl.KeyedTable, folder: Path) -> None:
    table.update([{"id": number, "a": -number} for number in range(100)], version=2)
    table.compact("full")
    before = sorted(table.read().collect())
    file = data_files(folder)[-1]
    file.unlink()
    plan = table.repair_plan()
    assert [(step.way, len(step.statements), step.rows) for step in plan.steps] == [("restore_files", 2, None)]
    assert plan.rows_lost == 0
    for statement in plan.steps[0].statements:
        table._handle.session.spark.sql(statement).collect()
    assert sorted(table.read().collect()) == before
    (damage,) = table.check().damage
    assert damage.is_of_the_past
    assert damage.next_step.startswith("Nothing has to be done")


def test_files_in_the_place_of_others_are_told(lake: kl.Lake, table: kl.KeyedTable, folder: Path) -> None:
    file, other = data_files(folder)
    content = other.read_bytes()
    other.write_bytes(file.read_bytes())
    # The manifest says another size; a file of the same size is told by the name that its writer has noted.
    assert [kind for kind, _ in found(table.check())] in (["truncated"], ["wrong_size"])
    other.write_bytes(content)
    twin = table.branch("tmp_twin")
    twin.upsert(ROWS, version=2)
    twin.upsert(ROWS, version=3)
    pairs = [path for path in data_files(folder) if path.stat().st_mtime_ns > other.stat().st_mtime_ns]
    same = [(one, two) for one in pairs for two in pairs if one < two and one.stat().st_size == two.stat().st_size]
    for one, two in same[:1]:
        kept = one.read_bytes()
        one.write_bytes(two.read_bytes())
        (damage,) = table.check().damage
        assert (damage.kind, damage.branches) == ("other_file", ("tmp_twin",))
        assert two.name in damage.detail
        with pytest.raises(PySparkException, match=f"{one.name} is damaged .file {two.name} lies in its place"):
            twin.read().collect()
        assert table.read().count() == len(ROWS)
        one.write_bytes(kept)
    assert same
    table.branches.drop("tmp_twin")


@pytest.mark.slow
def test_metadata_and_manifests(lake: kl.Lake, table: kl.KeyedTable, folder: Path, tmp_path: Path) -> None:
    table.update([{"id": 1, "a": 7}], version=2)
    copy = shutil.copytree(folder, tmp_path / "copy")
    data_files(folder)
    first = table.history()[-1].snapshot_id
    for pattern, kind in (("snap-*.avro", "manifest_list"), ("*-m0.avro", "manifest")):
        newest = max(folder.joinpath("metadata").glob(pattern), key=lambda path: path.stat().st_mtime_ns)
        content = newest.read_bytes()
        newest.write_bytes(content[: len(content) // 2])
        (damage,) = table.check().damage
        assert (damage.file_kind, damage.branches, Path(damage.path).name) == (kind, ("main",), newest.name)
        (step,) = table.repair_plan().steps
        assert (step.way, step.statements[0].endswith(f"to => {first})")) == ("rollback", True)
        assert [each.repaired for each in table.repair(table.repair_plan(copy=copy))] == [True]
        assert newest.read_bytes() == content
    newest = max(folder.joinpath("metadata").glob("*.metadata.json"))
    content = newest.read_bytes()
    newest.unlink()
    (damage,) = lake.check(table.name).damage
    assert (damage.file_kind, Path(damage.path).name) == ("metadata", newest.name)
    newest.write_bytes(content)
    assert lake.check(table.name, "pages").is_ok


@pytest.mark.slow
def test_the_command(lake: kl.Lake, table: kl.KeyedTable, folder: Path, copy: Path) -> None:
    assert invoked(lake, "check", table.name).exit_code == 0
    file = data_files(folder)[0]
    flip_page(file, "t")
    assert invoked(lake, "check", table.name).exit_code == 0
    told = invoked(lake, "check", table.name, "--deep", "--json")
    assert told.exit_code == 1
    (damage,) = json.loads(told.stdout)["damage"]
    assert (damage["kind"], damage["column"], damage["row_group"]) == ("checksum", "t", 0)
    told = invoked(lake, "check", table.name, "--deep", "--plan", "--copy", str(copy), "--json")
    assert (told.exit_code, json.loads(told.stdout)["steps"][0]["way"]) == (1, "put_back")
    assert "add --plan" in invoked(lake, "check", table.name, "--copy", str(copy)).output
    assert "are for tables" in invoked(lake, "check", "pipeline.yaml", "--deep").output
    with pytest.raises(kl.TableNotFound):
        invoked(lake, "check", "no.table")
    with pytest.raises(kl.DefinitionError, match="Use 'files' or 'pages'"):
        table.check("deep")  # type: ignore[arg-type]
    with pytest.raises(kl.DefinitionError, match="no folder of copies"):
        table.repair(table.repair_plan())
    table.repair(table.repair_plan("pages", copy=copy))
    assert table.check("pages").is_ok
