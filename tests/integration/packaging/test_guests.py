"""A server without the jars of guests: the core works, and what needs a guest is refused with the name of its jar."""

from pathlib import Path

import pyarrow as pa
import pytest

import keylake as kl
from integration.refusals import refused_in_sql
from keylake._server import embedded
from keylake._server.server import VERSION, find_jars

PROCEDURES = {
    "keylake-pipelines": {"kafka_offsets", "write_tables"},
    "keylake-plain-deletes": {"apply_equality_deletes"},
}


def procedures(lake: kl.Lake) -> set[str]:
    return {row.procedure_name for row in lake.spark.sql("SHOW PROCEDURES IN lake.system").collect()}


def needs(what: str, jar: str) -> tuple[str, ...]:
    """The name of a table, the condition and the sentence."""
    there = f"add the jar beside keylake-server-{VERSION}.jar and start the server again"
    return ("ns.t", "UNSUPPORTED", f"{what} needs {jar}-{VERSION}.jar, which the server does not have; {there}")


@pytest.mark.slow
def test_the_core_without_guests(lake: kl.Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = tuple(jar for jar in find_jars() if not jar.name.startswith(tuple(PROCEDURES)))
    assert len(find_jars()) - len(jars) == len(PROCEDURES)
    monkeypatch.setattr(embedded, "find_jars", lambda: jars)
    with kl.connect(warehouse=tmp_path / "lake", memory="700m") as core:
        schema = pa.schema([("k", pa.int64()), ("a", pa.string())])
        table = core.create(kl.TableSpec.from_arrow(schema, name="ns.t", key="k"))
        table.upsert([{"k": 1, "a": "x"}, {"k": 2, "a": "y"}])
        table.update([{"k": 1, "a": "z"}])
        table.compact()
        assert table.read().orderBy("k").collect() == [(1, "z"), (2, "y")]
        assert procedures(lake) - procedures(core) == set().union(*PROCEDURES.values()), "each is named below"
        for jar, names in PROCEDURES.items():
            for name in names:
                with refused_in_sql(core, *needs(f"procedure '{name}'", jar)):
                    core.spark.sql(f"CALL lake.system.{name}('x')").collect()
        with refused_in_sql(core, *needs("function 'keylake_message_changes'", "keylake-pipelines")):
            core.spark.sql("SELECT keylake_message_changes('{}')").collect()
        policy = "TBLPROPERTIES ('keylake.equality-deletes' = '{}')"
        core.spark.sql("CREATE TABLE lake.ns.plain (k BIGINT) USING iceberg")
        core.spark.sql("INSERT INTO lake.ns.plain VALUES (1)")
        for statement in (f"ALTER TABLE lake.ns.plain SET {policy}", f"CREATE TABLE lake.ns.p (k BIGINT) {policy}"):
            with refused_in_sql(core, *needs("property 'keylake.equality-deletes'", "keylake-plain-deletes")):
                core.spark.sql(statement)
        assert core.spark.sql("SELECT * FROM lake.ns.plain").collect() == [(1,)]


@pytest.mark.slow
def test_the_log_names_what_is_not_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with kl.connect(warehouse=tmp_path / "lake", memory="700m") as whole:
        whole.spark.sql(
            "CREATE TABLE lake.ns.plain (k BIGINT) USING iceberg TBLPROPERTIES ('keylake.equality-deletes' = '{}')"
        )
    jars = tuple(jar for jar in find_jars() if not jar.name.startswith("keylake-plain-deletes"))
    monkeypatch.setattr(embedded, "find_jars", lambda: jars)
    logs = tmp_path / "lake" / ".keylake"
    before = set(logs.glob("server-*.log"))
    with kl.connect(warehouse=tmp_path / "lake", memory="700m") as core:
        for _ in range(2):
            assert core.spark.sql("SELECT * FROM lake.ns.plain").collect() == []
        (log,) = set(logs.glob("server-*.log")) - before
        told = "nothing is done for table lake.ns.plain: property 'keylake.equality-deletes' needs keylake-plain"
        assert log.read_text().count(told) == 1
