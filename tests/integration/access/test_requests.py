"""What principals ask beside SQL: verbs of the SDK, frames, functions, settings and artifacts."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql.connect.proto.commands_pb2 import Command
from pyspark.sql.functions import udf

import keylake as kl
from integration.access.guarded_server import SECRET, Guarded, signed


def test_a_reader_sees_the_rows_and_columns_of_its_rule(guarded: Guarded) -> None:
    orders = guarded.of("ana").table("shop.orders")
    assert [tuple(row) for row in orders.read(["id", "email"]).collect()] == [(1, "***@x")]
    with pytest.raises(kl.AccessDenied, match=r"may not read column 'secret'"):
        orders.read().collect()
    with pytest.raises(kl.AccessDenied):
        orders.explain_row(id=1)
    with pytest.raises(kl.AccessDenied):
        orders.changes().collect()


@pytest.mark.slow
def test_all_verbs_of_reading_work_on_a_whole_table(guarded: Guarded) -> None:
    notes = guarded.of("ana").table("shop.notes")
    assert notes.get(id=1)["secret"] == "s1"
    assert notes.changes().count() == 2
    assert notes.explain_row(id=1)
    assert notes.health().table == "shop.notes"
    assert notes.check().is_ok


@pytest.mark.slow
def test_many_rows_are_written_without_more_rights(guarded: Guarded) -> None:
    notes = guarded.of("ana").table("shop.notes")
    given = {"region": "north", "amount": 1.0, "email": "e", "secret": "s" * 100}
    notes.upsert([{"id": number, **given} for number in range(10, 60_010)])
    assert notes.read(["id"]).count() == 60_002
    notes.delete([{"id": number} for number in range(10, 60_010)])
    assert notes.read(["id"]).count() == 2


def test_a_writer_changes_the_columns_of_its_rule(guarded: Guarded) -> None:
    orders = guarded.of("ben").table("shop.orders")
    commit = orders.update([{"id": 2, "amount": 7.0}])
    assert orders.history()[0].writer == "ben", "the server says who it was, and not the client"
    for write in (
        lambda: orders.update([{"id": 2, "secret": "x"}]),
        lambda: orders.delete([{"id": 2}]),
        lambda: orders.read().collect(),
        lambda: orders.undo(commit),
    ):
        with pytest.raises(kl.AccessDenied):
            write()
    all_rows = guarded.of("owner").table("shop.orders")
    assert all_rows.get(id=2)["amount"] == 7.0
    assert all_rows.get(id=2)["secret"] == "s2"
    all_rows.undo(commit)
    assert all_rows.history()[0].writer == "owner"


def listener() -> Command:
    """A command by which a server would unpickle what a client sends, and run it."""
    command = Command()
    command.streaming_query_manager_command.add_listener.id = "mine"
    command.streaming_query_manager_command.add_listener.listener_payload = b"anything"
    return command


def expression_of_java() -> Command:
    """A command that names a class which the server would load."""
    command = Command()
    command.register_function.function_name = "mine"
    command.register_function.java_udf.class_name = "java.lang.Thread"
    return command


def runner() -> Command:
    """A command that has a class of the server run a text."""
    command = Command()
    command.execute_external_command.runner = "java.lang.Thread"
    command.execute_external_command.command = "anything"
    return command


def test_code_and_files_need_rights_of_their_own(guarded: Guarded, tmp_path: Path) -> None:
    spark, local = guarded.of("ana").spark, tmp_path / "module.py"
    local.write_text("x = 1")
    tried: tuple[Callable[[], object], ...] = (
        lambda: spark.range(3).select(udf(lambda value: value)("id")).collect(),
        lambda: spark.range(3).mapInArrow(lambda batches: batches, "id long").collect(),
        lambda: spark.udf.register("mine", lambda value: value),
        lambda: spark.addArtifact(str(local), pyfile=True),
        lambda: spark.read.parquet("/tmp"),
        lambda: spark.read.format("jdbc").option("url", "jdbc:sqlite:/tmp/x").option("dbtable", "t").load(),
        lambda: spark.range(3).write.parquet(str(tmp_path / "out")),
        lambda: spark.readStream.format("rate").load().writeStream.format("memory").queryName("q").start(),
        lambda: spark.client.execute_command(listener()),
        lambda: spark.client.execute_command(expression_of_java()),
        lambda: spark.client.execute_command(runner()),
        lambda: spark.conf.set("spark.keylake.access.session", "x"),
        lambda: spark.conf.set("spark.sql.variable.substitute", "true"),
        lambda: spark.conf.set("spark.sql.catalog.lake.uri", "jdbc:sqlite:/tmp/mine"),
        lambda: spark.conf.unset("spark.keylake.access.session"),
        lambda: spark.conf.get("spark.sql.catalog.lake.uri"),
    )
    for number, each in enumerate(tried):
        with pytest.raises(kl.AccessDenied, match="ask whoever keeps the policy"):
            print(number, each())
    assert spark.conf.get("spark.sql.catalog.lake") == "io.keylake.spark.KeylakeCatalog"
    assert guarded.of("owner").spark.range(2).select(udf(lambda value: value)("id")).count() == 2


def test_tables_that_no_rule_names_are_not_there(guarded: Guarded) -> None:
    ana = guarded.of("ana")
    assert sorted(ana.tables()) == ["shop.notes", "shop.orders"]
    assert not ana.spark.catalog.tableExists("lake.shop.hidden")
    assert [each.name for each in ana.spark.catalog.listTables("lake.shop")] == ["notes", "orders"]
    assert guarded.of("eve").tables() == ()


@pytest.mark.parametrize(
    "token",
    [
        "",
        "somebody",
        signed(sub="dan", iss="tests"),
        signed(sub="dan", iss="tests", exp=int(time.time()) - 60),
        signed(sub="dan", iss="others", exp=int(time.time()) + 3600),
        signed(sub="ana", iss="tests", exp=int(time.time()) + 3600),
        signed(sub="dan", iss="tests", exp=int(time.time()) + 3600)[:-4] + "AAAA",
    ],
    ids=["none", "unknown", "without-end", "ended", "of-another-issuer", "of-one-with-its-own-token", "changed"],
)
def test_a_token_of_nobody_is_refused(guarded: Guarded, token: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KEYLAKE_TOKEN", raising=False)
    with pytest.raises(kl.ServerRefused, match="of none of its principals"):
        guarded.with_token(token) if token else kl.connect(guarded.address)


def test_a_signed_token_says_who_asks(guarded: Guarded) -> None:
    lake = guarded.with_token(signed(sub="dan", iss="tests", exp=int(time.time()) + 3600))
    assert lake.tables() == ("shop.orders",)


def test_what_is_asked_stands_in_the_log_without_values(guarded: Guarded) -> None:
    with pytest.raises(kl.AccessDenied):
        guarded.of("ana").sql("INSERT INTO lake.shop.orders VALUES (77, 'very-secret-value', 1.0, 'e', 's')")
    lines = [json.loads(line[line.index("{") :]) for line in log(guarded) if '"principal"' in line]
    denied = [line for line in lines if not line["allowed"] and line["principal"] == "ana"]
    assert denied[-1]["right"] == "write"
    assert denied[-1]["table"] == "lake.shop.orders"
    assert {line["principal"] for line in lines} >= {"owner", "ana"}


def test_no_token_and_no_setting_with_one_is_told(guarded: Guarded) -> None:
    text = "\n".join(log(guarded))
    assert "owner-token" not in text
    assert SECRET not in text
    process = Path(f"/proc/{guarded.server._process.pid}/cmdline").read_bytes()
    assert b"owner-token" not in process


def log(guarded: Guarded) -> list[str]:
    return guarded.server.log.read_text(errors="replace").splitlines()
