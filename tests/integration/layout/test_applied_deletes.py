"""`apply_equality_deletes` as it is called. What it does to deletes is tested with Flink, which writes some."""

import pytest

import keylake as kl
from integration.refusals import refused, refused_in_sql
from integration.twin import fresh_name

NOTHING = kl.AppliedDeletes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0)


@pytest.fixture(scope="module")
def plain(lake: kl.Lake) -> str:
    """A plain table whose deletes are positions already."""
    table = fresh_name("plain")
    lake.spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.plain")
    lake.spark.sql(
        f"CREATE TABLE lake.{table} (id BIGINT, day DATE) USING iceberg PARTITIONED BY (day)"
        " TBLPROPERTIES ('format-version' = '3', 'write.delete.mode' = 'merge-on-read')"
    )
    lake.spark.sql(f"INSERT INTO lake.{table} SELECT id, DATE '2026-11-01' FROM range(10)")
    lake.spark.sql(f"DELETE FROM lake.{table} WHERE id < 3")
    return table


def test_a_table_without_equality_deletes_stays_as_it_is(lake: kl.Lake, plain: str) -> None:
    assert lake.apply_equality_deletes(plain) == NOTHING
    assert lake.apply_equality_deletes(plain, where="day = '2026-11-01' AND id > 5", portions_per_commit=1) == NOTHING
    planned = lake.apply_equality_deletes(plain, dry_run=True)
    assert (planned.portions, planned.rows, planned.bytes_written) == (0, None, None)
    called = lake.spark.sql(f"CALL lake.system.apply_equality_deletes(table => '{plain}', dry_run => true)")
    assert called.columns == list(NOTHING.__dataclass_fields__)
    assert lake.spark.table(f"lake.{plain}").count() == 7


def test_what_cannot_be_is_refused(lake: kl.Lake, plain: str) -> None:
    with refused(lake, plain, kl.errors.DefinitionError, "portions_per_commit is 0", "from 1"):
        lake.apply_equality_deletes(plain, portions_per_commit=0)
    with refused(lake, plain, kl.errors.DefinitionError, "nowhere"):
        lake.apply_equality_deletes(plain, where="nowhere = 1")
    with refused(lake, plain, kl.errors.TableNotFound, "plain.nothing"):
        lake.apply_equality_deletes("plain.nothing")
    keyed = fresh_name("plain")
    lake.spark.sql(f"CREATE TABLE lake.{keyed} (id BIGINT, PRIMARY KEY (id)) USING keylake")
    with refused(lake, keyed, kl.errors.Unsupported, "plain Iceberg tables", "compact"):
        lake.apply_equality_deletes(keyed)


def test_a_policy_that_cannot_be_is_refused(lake: kl.Lake, plain: str) -> None:
    def set_policy(table: str, policy: str) -> None:
        lake.spark.sql(f"ALTER TABLE lake.{table} SET TBLPROPERTIES ('keylake.equality-deletes' = '{policy}')")

    with refused_in_sql(lake, plain, "DEFINITION", "max_files -1", "0 or more"):
        set_policy(plain, '{"max_files": -1}')
    set_policy(plain, '{"max_files": 1}')
    assert lake.apply_equality_deletes(plain, dry_run=True).due_because is None
    keyed = fresh_name("plain")
    definition = f"CREATE TABLE lake.{keyed} (id BIGINT, PRIMARY KEY (id)) USING keylake"
    with refused_in_sql(lake, keyed, "DEFINITION", "for plain Iceberg tables"):
        lake.spark.sql(f"{definition} TBLPROPERTIES ('keylake.equality-deletes' = '{{}}')")
    lake.spark.sql(definition)
    with refused_in_sql(lake, keyed, "UNSUPPORTED", "for plain Iceberg tables", "keylake.compaction"):
        set_policy(keyed, "{}")
