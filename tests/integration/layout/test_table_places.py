"""Where tables may lie: each in a folder of its own, whatever its name, its LOCATION or its catalog."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql
from integration.spark_processes import connect_server
from keylake._server.server import CATALOG_CLASS, catalog_settings

NOW = kl.RetentionPolicy(days=0, orphan_days=0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("places")


@pytest.fixture(scope="module")
def url(folder: Path) -> Iterator[str]:
    """A server on which the same warehouse has two catalogs."""
    with connect_server(folder, catalog_settings("other", CATALOG_CLASS, folder)) as server:
        yield server.url


@pytest.fixture(scope="module")
def lake(url: str) -> Iterator[kl.Lake]:
    with kl.connect(url) as lake:
        yield lake


@pytest.fixture(scope="module")
def other(url: str) -> Iterator[kl.Lake]:
    with kl.connect(url, catalog="other") as lake:
        yield lake


def spec(name: str) -> kl.TableSpec:
    columns = pa.schema([pa.field("id", pa.int64(), nullable=False), pa.field("a", pa.int64())])
    return kl.TableSpec.from_arrow(columns, name=name, key=["id"], versions="explicit", buckets=1)


def written(lake: kl.Lake, name: str) -> kl.KeyedTable:
    table = lake.create(spec(name))
    table.upsert([{"id": 1, "a": len(name)}], version=1)
    return table


def value(table: kl.KeyedTable) -> object:
    row = table.get(id=1)
    return None if row is None else row["a"]


def keyed_at(lake: kl.Lake, name: str, location: object) -> None:
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT NOT NULL, a BIGINT) LOCATION '{location}' "
        f"TBLPROPERTIES ('keylake.spec' = '{spec(name).property_json()}')"
    ).collect()


def location(lake: kl.Lake, table: kl.KeyedTable) -> Path:
    rows = lake.spark.sql(f"DESCRIBE TABLE EXTENDED {lake.catalog}.{table.name}").collect()
    return Path(next(row[1] for row in rows if row[0] == "Location").removeprefix("file:"))


@pytest.mark.slow
def test_inside_or_around_another_table_is_refused(lake: kl.Lake) -> None:
    outer = written(lake, "nested.b")
    with refused(lake, "nested.b.c", kl.DefinitionError, "inside the folder of a table", "nested/b"):
        lake.create(spec("nested.b.c"))
    inner = written(lake, "deep.x.y")
    with refused(lake, "deep.x", kl.DefinitionError, "has the folder of a table inside", "deep/x/y"):
        lake.create(spec("deep.x"))
    neighbours = [written(lake, name) for name in ("nested.b_c", "nested.bc", "nested.`b.c`", "nested2.b")]
    for table in (outer, inner, *neighbours):
        assert table.clean(NOW).orphans_left_because is None
        assert value(table) == len(table.name)


@pytest.mark.parametrize("name", ["dots.`..`", "dots.`.`"])
def test_names_that_are_no_names_of_folders_are_refused(lake: kl.Lake, name: str) -> None:
    with pytest.raises(kl.DefinitionError, match=r"'\.\.?' cannot be part of a table's name"):
        lake.create(spec(name))


@pytest.mark.parametrize("part", ["x" * 300, "日" * 81])
def test_names_that_are_too_long_for_folders_are_refused(lake: kl.Lake, part: str) -> None:
    with pytest.raises(kl.DefinitionError, match=rf"has {len(part.encode())} bytes, .* take 240; take a shorter one"):
        lake.create(spec(f"long.{part}"))
    assert not any(each.name.startswith("long.") for each in lake.tables())


@pytest.fixture(scope="module")
def taken(lake: kl.Lake, folder: Path) -> kl.KeyedTable:
    (folder / "link").symlink_to(folder / "spelled")
    return written(lake, "spelled.t")


@pytest.mark.parametrize(
    "spelling",
    ["{0}/spelled/t", "{0}/spelled/t/in", "{0}/spelled/t/data/in/", "file:{0}/spelled/t/in", "file://{0}/spelled/t/in",
     "{0}//spelled/./t/in", "{0}/else/../spelled/t/in", "{0}/link/t/in", "{0}/link/t", "{0}/spelled", "{0}",
     "{0}/spelled/..", "{0}/../outside", "/", "s3a://bucket/outside"],
)  # fmt: skip
def test_a_location_is_refused_however_it_is_spelled(
    lake: kl.Lake, folder: Path, taken: kl.KeyedTable, spelling: str
) -> None:
    with refused_in_sql(lake, "spelled.new", "DEFINITION", "location"):
        keyed_at(lake, "spelled.new", spelling.format(folder))
    assert value(taken) == len(taken.name)


@pytest.mark.slow
def test_a_location_of_its_own_is_taken(lake: kl.Lake, folder: Path, taken: kl.KeyedTable) -> None:
    keyed_at(lake, "spelled.own", f"{folder}/else where/own")
    table = lake.table("spelled.own")
    table.upsert([{"id": 1, "a": 3}], version=1)
    assert location(lake, table) == folder / "else where" / "own"
    for change in (
        f"SET LOCATION '{location(lake, taken)}/in'",
        "SET LOCATION '/tmp'",
        f"SET TBLPROPERTIES ('write.data.path' = 'file://{location(lake, taken)}/data')",
        f"SET TBLPROPERTIES ('write.metadata.path' = '{folder}')",
        "SET TBLPROPERTIES ('write.data.path' = '/tmp/elsewhere')",
        "SET TBLPROPERTIES ('write.object-storage.path' = 's3://elsewhere/rows')",
        "SET TBLPROPERTIES ('write.folder-storage.path' = 'elsewhere')",
    ):
        with refused_in_sql(lake, "spelled.own", "DEFINITION", "location"):
            lake.spark.sql(f"ALTER TABLE {lake.catalog}.spelled.own {change}").collect()
    inside = f"SET TBLPROPERTIES ('write.data.path' = '{location(lake, table)}/rows')"
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.spelled.own {inside}").collect()
    table.upsert([{"id": 1, "a": 4}], version=2)
    assert table.clean(NOW).orphans_left_because is None
    assert value(table) == 4


def test_plain_tables_are_kept_apart_too(lake: kl.Lake, taken: kl.KeyedTable, tmp_path: Path) -> None:
    plain = f"CREATE TABLE {lake.catalog}.spelled.plain (id BIGINT) USING iceberg LOCATION"
    for place in (f"{location(lake, taken)}/in", f"{location(lake, taken).parent}"):
        for rows in ("", " AS SELECT 1L AS id"):
            with refused_in_sql(lake, "spelled.plain", "DEFINITION", "location"):
                lake.spark.sql(f"{plain.replace(' (id BIGINT)', '') if rows else plain} '{place}'{rows}").collect()
    lake.spark.sql(f"{plain} '{tmp_path}/anywhere'").collect()


@pytest.mark.slow
def test_a_new_table_leaves_a_dropped_one_of_its_name_alone(lake: kl.Lake) -> None:
    first = written(lake, "again.t")
    before = sorted(location(lake, first).rglob("*"))
    lake.drop("again.t")
    second = written(lake, "again.t")
    assert location(lake, second).parent == before[0].parent.parent
    assert second.clean(NOW).orphans_left_because is None
    assert sorted(path for path in before if path.exists()) == before
    lake.spark.sql(f"DROP TABLE {lake.catalog}.again.t PURGE").collect()
    assert sorted(path for path in before if path.exists()) == before


def test_a_renamed_table_keeps_its_folder(lake: kl.Lake) -> None:
    renamed = written(lake, "renamed.before")
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.renamed.before RENAME TO renamed.after").collect()
    second = written(lake, "renamed.before")
    renamed = lake.table("renamed.after")
    assert location(lake, renamed) != location(lake, second)
    for table in (renamed, second, renamed):
        assert table.clean(NOW).orphans_left_because is None
    assert (value(renamed), value(second)) == (len("renamed.before"), len("renamed.before"))


def test_another_catalog_of_the_warehouse_has_its_own_folders(lake: kl.Lake, other: kl.Lake) -> None:
    here = written(lake, "both.t")
    there = written(other, "both.t")
    assert location(lake, here) != location(other, there)
    with pytest.raises(kl.DefinitionError, match="inside the folder of a table"):
        other.create(spec("both.t.inner"))
    for table in (here, there, here):
        assert table.clean(NOW).orphans_left_because is None
    assert (value(here), value(there)) == (len("both.t"), len("both.t"))
