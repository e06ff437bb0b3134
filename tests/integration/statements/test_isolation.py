"""Statements that meet commits of others between their read and their own commit, under both levels of isolation.

They are run once: `test_retries` has those that are run again.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

import keylake as kl
from integration.random_runs import of_every
from integration.refusals import refused_in_sql, snapshots
from integration.statements import meeting
from integration.statements.meeting import register_gate
from integration.twin import fresh_name

Meanwhile = Callable[[kl.KeyedTable, str], object]


@pytest.fixture(scope="module")
def gate(lake: kl.Lake) -> str:
    return register_gate(lake)


def meet(lake: kl.Lake, gate: str, directory: Path, statement: str, meanwhile: Callable[[], object]) -> None:
    """Run a statement, and the other thing after it was planned and before it commits."""
    meeting.meet(directory, lambda: lake.spark.sql(statement.format(gate=gate.format(directory))).collect(), meanwhile)


def lose_to_a_row(lake: kl.Lake, gate: str, directory: Path, table: kl.KeyedTable, statement: str, values: str) -> None:
    """A row of k, tenant and a comes while a statement runs, which conflicts with it."""
    insert = f"INSERT INTO {lake.catalog}.{table.name} (k, tenant, a) VALUES ({values})"
    with pytest.raises(Exception, match="KEYLAKE_COMMIT_CONFLICT"):
        meet(lake, gate, directory, statement, lambda: _run(table, insert))


def create(lake: kl.Lake, level: str, *, empty: bool = False) -> kl.KeyedTable:
    name = fresh_name("isolation")
    lake.spark.sql(f"""
        CREATE TABLE {lake.catalog}.{name} (k BIGINT, tenant BIGINT, a BIGINT, b BIGINT, PRIMARY KEY (k, tenant))
        USING keylake CLUSTERED BY (k, tenant) INTO 4 BUCKETS TBLPROPERTIES (
            'write.update.isolation-level' = '{level}', 'write.delete.isolation-level' = '{level}',
            'statement.retry.num-retries' = '0')
    """).collect()
    if not empty:
        lake.spark.sql(f"INSERT INTO {lake.catalog}.{name} SELECT id, 1, 0, 0 FROM range(40)").collect()
        lake.spark.sql(f"UPDATE {lake.catalog}.{name} SET b = 1 WHERE k < 10").collect()
    return lake.table(name)


def sql(statement: str) -> Meanwhile:
    return lambda table, name: _run(table, statement.format(t=name))


def _run(table: kl.KeyedTable, statement: str) -> object:
    return table.read().sparkSession.sql(statement).collect()


MEANWHILE: dict[str, Meanwhile] = {
    "same column": sql("INSERT INTO {t} (k, tenant, a) VALUES (1, 1, 7)"),
    "other column": sql("INSERT INTO {t} (k, tenant, b) VALUES (1, 1, 7)"),
    "other key": sql("INSERT INTO {t} (k, tenant, a) VALUES (1000, 1, 7)"),
    "deletion": sql("DELETE FROM {t} WHERE k = 1"),
    "truncation": sql("TRUNCATE TABLE {t}"),
    "compaction": lambda table, _name: table.compact("full"),
    "settling": lambda table, _name: table.compact("settle"),
    "rollback": lambda table, _name: table.rollback(to=table.history()[1].snapshot_id),
}
ON_KEY = "UPDATE {t} SET a = 5 WHERE k = 1 AND tenant = 1 AND {gate}"
OF_ALL = "UPDATE {t} SET a = 5 WHERE b = 1 AND {gate}"
DELETE = "DELETE FROM {t} WHERE k = 1 AND tenant = 1 AND {gate}"


CONFLICTS = {
    "serializable, by key": ("serializable", ON_KEY, {"same column", "other column"}),
    "serializable, by value": ("serializable", OF_ALL, {"same column", "other column", "other key"}),
    "snapshot": ("snapshot", OF_ALL, {"same column"}),
    "snapshot, delete": ("snapshot", DELETE, {"same column", "other column"}),
}


@pytest.mark.slow
@of_every("case", CONFLICTS, today=1)
def test_what_conflicts(lake: kl.Lake, gate: str, tmp_path: Path, case: tuple[str, str, set[str]]) -> None:
    level, statement, own = case
    conflicts = own | {"deletion", "truncation", "rollback"}
    table = create(lake, level)
    name = f"{lake.catalog}.{table.name}"
    for number, (kind, meanwhile) in enumerate(MEANWHILE.items()):
        directory = tmp_path / str(number)
        directory.mkdir()
        rollback = table.history()[0].snapshot_id
        said = statement.replace("{t}", name)
        if kind not in conflicts:
            meet(lake, gate, directory, said, lambda m=meanwhile: m(table, name))
        else:
            with pytest.raises(Exception, match="KEYLAKE_COMMIT_CONFLICT") as raised:
                meet(lake, gate, directory, said, lambda m=meanwhile: m(table, name))
            lines = [line for line in str(raised.value).splitlines() if "[KEYLAKE_COMMIT_CONFLICT]" in line]
            newest = table.history()[0]
            assert newest.verb != "update" or "INSERT" not in kind, "the statement has written nothing"
            assert "run the statement again" in lines[0]
            assert "it was run once (statement.retry.num-retries is 0)" in lines[0]
            assert kind == "rollback" or str(newest.snapshot_id) in lines[0]
        if kind != "rollback":
            table.rollback(to=rollback)


def test_writes_of_others_stay(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    table = create(lake, "snapshot")
    name = f"{lake.catalog}.{table.name}"
    meet(
        lake,
        gate,
        tmp_path,
        f"UPDATE {name} SET a = a + 1 WHERE b = 1 AND {{gate}}",
        lambda: table.update([{"k": k, "tenant": 1, "b": 9} for k in range(20)], stream="clicks"),
    )
    found = {row.k: (row.a, row.b) for row in table.read().where("k < 20").collect()}
    assert found == {k: (1 if k < 10 else 0, 9) for k in range(20)}


def test_a_self_reference_looks_at_all(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    table = create(lake, "serializable")
    name = f"{lake.catalog}.{table.name}"
    lose_to_a_row(
        lake,
        gate,
        tmp_path,
        table,
        f"UPDATE {name} SET a = (SELECT max(a) + 1 FROM {name} WHERE b < 2) WHERE k = 1 AND tenant = 1 AND {{gate}}",
        "1000, 1, 50",
    )


def test_a_statement_reads_one_snapshot(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    """What is committed after a statement was planned is not read by it, by none of its mentions of the table."""
    table = create(lake, "snapshot")
    name = f"{lake.catalog}.{table.name}"
    meet(
        lake,
        gate,
        tmp_path,
        f"UPDATE {name} SET a = (SELECT count(*) FROM {name}) WHERE k = 1 AND tenant = 1 AND {{gate}}",
        lambda: _run(table, f"INSERT INTO {name} (k, tenant, a) VALUES (1000, 1, 50)"),
    )
    assert table.get(k=1, tenant=1)["a"] == 40


def test_isolation_of_a_table_without_a_commit(lake: kl.Lake, gate: str, tmp_path: Path) -> None:
    table = create(lake, "serializable", empty=True)
    name = f"{lake.catalog}.{table.name}"
    lose_to_a_row(lake, gate, tmp_path, table, f"UPDATE {name} SET a = 1 WHERE {{gate}}", "1, 1, 50")


def test_files_of_a_statement_that_lost_are_deleted(lake: kl.Lake, gate: str, tmp_path: Path, warehouse: Path) -> None:
    table = create(lake, "serializable")
    name = f"{lake.catalog}.{table.name}"
    lose_to_a_row(lake, gate, tmp_path, table, f"UPDATE {name} SET a = 1 WHERE {{gate}}", "1, 1, 50")
    stored = {path.name for path in warehouse.glob(f"{table.name.replace('.', '/')}/data/**/*.parquet")}
    named = {row.path.rsplit("/", 1)[-1] for row in table.files().collect()}
    assert stored == named


@pytest.mark.parametrize("kind", ["update", "delete", "merge"])
def test_a_level_that_there_is_not_is_refused(lake: kl.Lake, kind: str) -> None:
    table = create(lake, "snapshot", empty=True)
    name = f"{lake.catalog}.{table.name}"
    with refused_in_sql(lake, table.name, "DEFINITION", f"write.{kind}.isolation-level", "'none'", "serializable"):
        _run(table, f"ALTER TABLE {name} SET TBLPROPERTIES ('write.{kind}.isolation-level' = 'none')")
    _run(table, f"ALTER TABLE {name} SET TBLPROPERTIES ('write.{kind}.isolation-level' = 'SERIALIZABLE')")
    other = fresh_name("isolation")
    with refused_in_sql(lake, other, "DEFINITION", "'readers'"):
        _run(
            table,
            f"CREATE TABLE {lake.catalog}.{other} (k BIGINT PRIMARY KEY) USING keylake"
            f" TBLPROPERTIES ('write.{kind}.isolation-level' = 'readers')",
        )
    assert snapshots(lake, table.name) == []
