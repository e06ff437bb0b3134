"""Tables that are made without a server are those that the server makes of the same definition."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.catalog import Catalog

import keylake as kl
import keylake.local
from integration.twin import fresh_name

SPECS = Path(__file__).parents[2] / "cases" / "spec"
GOLDEN = {path.stem: json.loads(path.read_text()) for path in sorted(SPECS.glob("*.json")) if path.stem != "refused"}
OF_ONE_TABLE = ("table-uuid", "location", "last-updated-ms", "metadata-log")
NOON = datetime(2026, 11, 1, 12, tzinfo=UTC)


class Visit(kl.Table, name="made.visit", buckets=4):
    """Visits of users, by page."""

    user: UUID = kl.key(doc="Who.")
    page: str = kl.key()
    at: datetime = kl.ordering()
    tags: list[str] | None = kl.column()
    rank: kl.Float64 | None = kl.column(reduce=kl.LatestNotNull())


def metadata_of(catalog: Catalog, name: str) -> dict[str, Any]:
    """The metadata of a table without what each table has of its own."""
    found = catalog.load_table(tuple(name.split("."))).metadata.model_dump()
    return {part: value for part, value in found.items() if part not in OF_ONE_TABLE}


def visit(number: int, minute: int, **values: object) -> Visit:
    return Visit(user=UUID(int=number), page="home", at=NOON.replace(minute=minute), **values)  # type: ignore[arg-type]


def test_both_makers_give_the_same_metadata(lake: kl.Lake, warehouse: Path) -> None:
    compared = []
    with keylake.local.open(warehouse) as served, keylake.local.open(":memory:") as local:
        for name, case in GOLDEN.items():
            spec = kl.TableSpec.from_json(json.dumps(case["spec"]))
            spec = replace(spec, name=fresh_name(name))
            try:
                local.create(spec)
            except kl.Unsupported as refused:
                assert "only a server can try" in str(refused)  # noqa: PT017  # the reason is said
                continue
            lake.create(spec)
            there, here = (metadata_of(each._catalog, spec.name) for each in (served, local))
            assert here == there, name
            compared.append(name)
    assert {"key_groups", "parts", "partitioned", "value_types"} <= set(compared)


def test_a_server_reads_and_writes_what_was_made_here(lake: kl.Lake, warehouse: Path) -> None:
    with keylake.local.open(warehouse) as local:
        made = local.create(Visit)
        made.upsert([visit(1, 5, tags=["a"], rank=0.5), visit(2, 5)])
        table = lake.create(Visit, if_exists="match")
        table.update([{"user": UUID(int=2), "page": "home", "at": NOON, "rank": 1.0}])
        written = table.upsert([visit(3, 1, tags=[])])
        expected = [visit(1, 5, tags=["a"], rank=0.5), visit(2, 5, rank=1.0), visit(3, 1, tags=[])]
        assert sorted(made.read().rows(), key=lambda row: row.user) == expected
        assert [table.get(user=row.user, page=row.page) for row in expected] == expected
        assert [change.after for change in made.changes(after=table.history()[1]).rows()] == expected[2:]
        assert made.get(user=UUID(int=3), page="home", at=written) == expected[2]


@pytest.mark.slow
def test_an_embedded_server_opens_a_lake_that_was_made_here(tmp_path: Path) -> None:
    made = keylake.local.create(Visit, tmp_path / "own")
    made.upsert([visit(1, 5, rank=0.5)])
    with kl.connect(tmp_path / "own", memory="1g") as lake:
        table = lake.table(Visit)
        table.delete([{"user": UUID(int=1), "page": "home", "at": NOON.replace(minute=6)}])
        assert made.read().rows() == [] == table.to_pandas().to_dict("records")


def test_a_lake_in_memory_is_empty_and_ends(tmp_path: Path) -> None:
    with keylake.local.open(":memory:") as local, keylake.local.open(":memory:") as other:
        table = local.create(Visit)
        place = Path(local._catalog.properties["warehouse"])
        first = table.upsert([visit(1, 5, rank=0.5)])
        table.delete([visit(1, 6)])
        assert (table.get(user=UUID(int=1), page="home"), table.read(at=first).rows()) == (
            None,
            [visit(1, 5, rank=0.5)],
        )
        assert local.tables() == ("made.visit",)
        assert other.tables() == ()
        assert (place / "made" / "visit" / "data").is_dir()
    assert not place.exists()


def test_a_name_that_is_taken(tmp_path: Path) -> None:
    made = keylake.local.create(Visit, tmp_path)
    with pytest.raises(kl.TableExists, match=r"Table made\.visit exists already"):
        keylake.local.create(Visit, tmp_path)
    assert keylake.local.create(Visit, tmp_path, if_exists="match").spec == made.spec
    with keylake.local.open(tmp_path) as local:
        other = replace(Visit.table_spec(), buckets=8)
        with pytest.raises(kl.SchemaMismatch, match="buckets: 8 here, 4 there"):
            local.create(other, if_exists="match")
        assert len(list((tmp_path / "made" / "visit").rglob("*"))) == 2
        local._catalog.drop_table("made.visit")
        local.create(other)
    assert len(list((tmp_path / "made").glob("visit-*/metadata/*.json"))) == 1


def test_definitions_that_need_a_server_are_refused(tmp_path: Path) -> None:
    columns = pa.schema([("user", pa.string()), ("score", pa.float64())])
    of_java = kl.TableSpec.from_arrow(
        columns, name="made.own", key="user", reducers={"score": kl.Own("com.example.Peak")}
    )
    hashed = kl.TableSpec.from_arrow(columns, name="made.own", key="user", groups=8, buckets=4, hash="com.example.Hash")
    with keylake.local.open(":memory:") as local:
        with pytest.raises(
            kl.Unsupported, match=r"Column 'score' of made\.own has the reducer .*Create the table through"
        ):
            local.create(of_java)
        with pytest.raises(kl.Unsupported, match=r"by the Java class com\.example\.Hash"):
            local.create(hashed)
        with pytest.raises(kl.DefinitionError, match="is no definition of a table"):
            local.create("made.visit")  # type: ignore[call-overload]
        assert local.tables() == ()
    with pytest.raises(kl.DefinitionError, match="open it first"):
        keylake.local.create(Visit, ":memory:")
    with pytest.raises(kl.DefinitionError, match="cannot be used"):
        keylake.local.create(Visit, "/proc/none/lake")
    with pytest.raises(kl.TableNotFound, match=r"Make one with keylake\.local\.create"):
        keylake.local.open(tmp_path)
