"""Tables as things of the catalog: create, list, describe, comment, properties, rename, drop."""

import json
from datetime import date

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from integration.twin import Twin, fresh_name

SCHEMA = pa.schema(
    [
        pa.field("user_id", pa.int64(), nullable=False, metadata={"doc": "Who."}),
        pa.field("day", pa.date32(), nullable=False),
        pa.field("clicks", pa.int64(), metadata={"doc": "How often."}),
        pa.field("page", pa.string()),
    ]
)
KEY: dict[str, object] = {"user_id": 1, "day": date(2026, 1, 1)}


def spec_of(name: str, **words: object) -> kl.TableSpec:
    given = {"key": ["user_id", "day"], "buckets": 3, "comment": "One user on one day.", **words}
    return kl.TableSpec.from_arrow(SCHEMA, name=name, **given)


def rows(lake: kl.Lake, statement: str) -> list[tuple[object, ...]]:
    return [tuple(row) for row in lake.spark.sql(statement).collect()]


def test_a_table_comes_back_as_it_was_defined(lake: kl.Lake) -> None:
    spec = spec_of(
        fresh_name("tables"), reducers={"page": kl.LatestNotNull()}, bucket_by=["user_id"], partition_by=["day"]
    )
    lake.create(spec)
    assert lake.table(spec.name).spec == spec
    assert spec.name in [table.name for table in lake.tables()]


def test_create_of_a_table_that_exists(lake: kl.Lake) -> None:
    spec = spec_of(fresh_name("tables"))
    lake.create(spec).update([KEY | {"clicks": 1}])
    with pytest.raises(
        kl.TableExists, match=rf"{spec.name} exists already. Open it with create\(..., if_exists=.match.\)"
    ):
        lake.create(spec)
    assert lake.create(spec, if_exists="match").read().count() == 1
    with pytest.raises(kl.SchemaMismatch, match="buckets"):
        lake.create(spec_of(spec.name, buckets=4), if_exists="match")
    assert lake.table(spec.name).read().count() == 1


@pytest.mark.slow
def test_a_table_that_is_not_there(lake: kl.Lake) -> None:
    for name in ("tables.nowhere", "nowhere.nothing"):
        with pytest.raises(kl.TableNotFound, match=r"no(where|thing)"):
            lake.table(name)
        with pytest.raises(kl.TableNotFound, match=r"no(where|thing)"):
            lake.drop(name)


def test_create_in_sql(lake: kl.Lake) -> None:
    name = fresh_name("tables")
    spec = spec_of(name)
    lake.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {lake.catalog}.tables").collect()
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (user_id BIGINT NOT NULL COMMENT 'Who.', day DATE NOT NULL, "
        "clicks BIGINT COMMENT 'How often.', page STRING) COMMENT 'One user on one day.' "
        f"TBLPROPERTIES ('keylake.spec' = '{spec.property_json()}')"
    ).collect()
    assert lake.table(name).spec == spec
    lake.table(name).update([KEY | {"clicks": 1}])
    assert lake.table(name).read(columns=["clicks"]).collect() == [(1,)]


def test_create_in_sql_of_a_spec_that_is_refused(lake: kl.Lake) -> None:
    spec = json.loads(spec_of("tables.any").property_json())
    for change, words in (
        ({"spec_version": 2}, ("2", "newer")),
        ({"colour": "red"}, ("colour",)),
        ({"buckets": 0}, ("buckets", "0")),
        ({"key": ["user"], "bucket_by": ["user"]}, ("'user'",)),
        ({"bucket_by": ["clicks"]}, ("bucket_by", "'clicks'")),
        ({"reducers": {"clicks": {"type": "BoolOr"}}}, ("'clicks'", "BoolOr", "boolean")),
        ({"reducers": {"clicks": {"type": "Magic"}}}, ("'clicks'", "Magic")),
        ({"column_groups": {"g": {"columns": [], "doc": ""}}}, ("'g'",)),
    ):
        name = fresh_name("tables")
        text = json.dumps(spec | change)
        with refused_in_sql(lake, name, "DEFINITION", *words):
            lake.spark.sql(
                f"CREATE TABLE {lake.catalog}.{name} (user_id BIGINT NOT NULL, day DATE NOT NULL, clicks BIGINT, "
                f"page STRING) TBLPROPERTIES ('keylake.spec' = '{text}')"
            ).collect()
        assert not lake.spark.catalog.tableExists(f"{lake.catalog}.{name}")


def test_show_describe_comment_and_properties(lake: kl.Lake) -> None:
    spec = spec_of(fresh_name("tables"))
    twin = Twin.create(lake, spec, SCHEMA)
    twin.upsert([KEY | {"clicks": 1, "page": "/"}])
    t = twin.sql_name
    assert spec.name.split(".")[1] in [row[1] for row in rows(lake, f"SHOW TABLES IN {lake.catalog}.tables")]
    described = {row[0]: row for row in rows(lake, f"DESCRIBE {t}")}
    assert (described["user_id"][1], described["user_id"][2]) == ("bigint", "Who.")
    assert any("One user on one day." in row[1] for row in rows(lake, f"DESCRIBE EXTENDED {t}") if row[1])
    lake.spark.sql(f"COMMENT ON TABLE {t} IS 'Another text.'").collect()
    lake.spark.sql(f"ALTER TABLE {t} ALTER COLUMN clicks COMMENT 'Quite often.'").collect()
    lake.spark.sql(f"ALTER TABLE {t} SET TBLPROPERTIES ('team' = 'growth')").collect()
    assert ("team", "growth") in rows(lake, f"SHOW TBLPROPERTIES {t}")
    lake.spark.sql(f"ALTER TABLE {t} UNSET TBLPROPERTIES ('team')").collect()
    assert "team" not in [row[0] for row in rows(lake, f"SHOW TBLPROPERTIES {t}")]
    table = lake.table(spec.name)
    assert (table.spec.comment, table.spec.column("clicks").doc) == ("Another text.", "Quite often.")
    twin.check()


@pytest.mark.parametrize(
    "change", ["SET TBLPROPERTIES ('keylake.spec' = '{}')", "UNSET TBLPROPERTIES ('keylake.spec')"]
)
def test_the_spec_is_not_changed_by_hand(lake: kl.Lake, change: str) -> None:
    spec = spec_of(fresh_name("tables"))
    twin = Twin.create(lake, spec, SCHEMA)
    twin.upsert([KEY | {"clicks": 1, "page": "/"}])
    with refused_in_sql(lake, spec.name, "UNSUPPORTED", "keylake.spec"):
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} {change}").collect()
    twin.check()


@pytest.mark.parametrize(
    "change",
    [
        "DROP COLUMN day",
        "ALTER COLUMN user_id DROP NOT NULL",
        "ALTER COLUMN user_id TYPE DECIMAL(20, 0)",
        "DROP COLUMN _merge_info",
    ],
)
def test_keys_stay_as_they_are(lake: kl.Lake, change: str) -> None:
    spec = spec_of(fresh_name("tables"))
    twin = Twin.create(lake, spec, SCHEMA)
    twin.upsert([KEY | {"clicks": 1, "page": "/"}])
    with pytest.raises(Exception, match=r"(?s).+"):
        lake.spark.sql(f"ALTER TABLE {twin.sql_name} {change}").collect()
    twin.check()


@pytest.mark.slow
def test_rename_and_drop(lake: kl.Lake) -> None:
    spec = spec_of(fresh_name("tables"))
    twin = Twin.create(lake, spec, SCHEMA)
    twin.upsert([KEY | {"clicks": 1, "page": "/"}])
    renamed = fresh_name("tables")
    lake.spark.sql(f"ALTER TABLE {twin.sql_name} RENAME TO {renamed}_first").collect()
    lake.spark.sql(f"ALTER TABLE {lake.catalog}.{renamed}_first RENAME TO {lake.catalog}.{renamed}").collect()
    table = lake.table(renamed)
    table.update([KEY | {"clicks": 2}])
    assert table.read(columns=["clicks", "page"]).collect() == [(2, "/")]
    with pytest.raises(kl.TableNotFound):
        lake.table(spec.name)
    lake.drop(renamed)
    with pytest.raises(kl.TableNotFound):
        lake.table(renamed)
    other = lake.create(spec)
    assert other.read().count() == 0
    lake.spark.sql(f"DROP TABLE {lake.catalog}.{spec.name}").collect()
    assert spec.name not in [table.name for table in lake.tables()]
