"""Each command on a real server: what it prints for people and for scripts, and with which status it ends."""

import datetime
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyspark
import pytest
from click.testing import Result
from typer.testing import CliRunner

import keylake as kl
from integration.commands import invoked
from integration.twin import fresh_name
from keylake._server.server import VERSION
from keylake.cli.app import app

Run = Callable[..., Result]


@pytest.fixture
def run(lake: kl.Lake) -> Run:
    """A command on the server of the tests; its token is in the environment."""
    return lambda *words: invoked(lake, *words)


@pytest.fixture
def clicks(lake: kl.Lake) -> kl.KeyedTable:
    name = fresh_name("cli")
    lake.spark.sql(
        f"CREATE TABLE {lake.catalog}.{name} (id BIGINT, city STRING, clicks BIGINT, PRIMARY KEY (id)) USING keylake "
        "TBLPROPERTIES ('versions' = 'commit', 'reduce.clicks' = 'Sum')"
    ).collect()
    table = lake.table(name)
    table.update([{"id": 1, "city": "Oslo"}, {"id": 2, "city": None}], stream="accounts")
    table.update([{"id": 1, "clicks": 3}], stream="web")
    return table


def json_of(result: Result) -> Any:
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def lines_of(result: Result) -> list[Mapping[str, Any]]:
    assert result.exit_code == 0, result.output
    return [json.loads(line) for line in result.stdout.splitlines()]


def test_a_directory_is_read_without_a_server(lake: kl.Lake, clicks: kl.KeyedTable, tmp_path: Path) -> None:
    assert lake._server is not None
    environment = {"KEYLAKE_LAKE": str(lake._server.setup.warehouse), "JAVA_HOME": str(tmp_path)}  # which has no Java
    here: Run = lambda *words: CliRunner().invoke(app, list(words), env=environment)  # noqa: E731
    assert {"name": clicks.name, "versions": "commit"} in json_of(here("tables", "--json"))
    assert json_of(here("get", clicks.name, "1", "--json")) == {"id": 1, "city": "Oslo", "clicks": 3}
    assert here("get", clicks.name, "9").exit_code == 1
    assert isinstance(json_of(here("status", "--json")), list)
    assert "JAVA_HOME" in str(here("history", clicks.name).exception), "which asks a server"


@pytest.mark.slow
@pytest.mark.parametrize("words", [["tables"], ["get", "{table}", "1"], ["status"]])
def test_a_command_that_reads_a_directory_imports_what_reads(
    lake: kl.Lake, clicks: kl.KeyedTable, words: list[str]
) -> None:
    assert lake._server is not None
    typed = [word.format(table=clicks.name) for word in words]
    code = (
        "import atexit, sys\n"
        f"sys.argv = {['keylake', *typed, '--lake', str(lake._server.setup.warehouse)]!r}\n"
        "atexit.register(lambda: print('imported', *sys.modules))\n"
        "from keylake.cli.app import main\n"
        "main()"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = set(ran.stdout.splitlines()[-1].split())
    assert {"keylake.local", "pyarrow.lib"} <= imported
    unwanted = {
        "grpc", "psycopg", "pymysql", "pyspark.sql.connect.session", "pyiceberg.io.pyarrow",
        "keylake.local.writing", "keylake_pipelines.definition.pipeline", "keylake_pipelines.pipeline.running",
        "keylake_pipelines.runner.loop", "keylake_pipelines.mysql.source", "keylake_pipelines.postgres.source",
    }  # fmt: skip
    assert sorted(unwanted & imported) == []


@pytest.fixture(params=["UTC", "Europe/Oslo", "America/St_Johns"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The zone of the process."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


def test_points_in_time_have_a_zone(run: Run, zone: str) -> None:
    """Also inside of lists, structs and maps, and where an hour comes twice."""
    said = "SELECT TIMESTAMP '{}' AS a"
    for text, at in (
        ("2026-10-25 00:30:00Z", "2026-10-25T00:30:00Z"),
        ("2026-10-25 01:30:00Z", "2026-10-25T01:30:00Z"),
        ("2026-03-29 01:30:00Z", "2026-03-29T01:30:00Z"),
    ):
        assert lines_of(run("sql", said.format(text), "--json")) == [{"a": at}], text
    assert os.environ["TZ"] == zone
    noon = "TIMESTAMP '2026-11-01 12:00:00+02:00'"
    (row,) = lines_of(
        run(
            "sql",
            f"SELECT {noon} AS a, array({noon}) AS b, named_struct('c', {noon}) AS s, map('k', {noon}) AS m, "
            "TIMESTAMP_NTZ '2026-11-01 12:00:00' AS n, CAST(NULL AS TIMESTAMP) AS z",
            "--json",
        )
    )
    at = "2026-11-01T10:00:00Z"
    assert row == {"a": at, "b": [at], "s": {"c": at}, "m": {"k": at}, "n": "2026-11-01T12:00:00", "z": None}


def test_the_number_of_this_machine_is_as_good_as_its_name(lake: kl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lake._server is not None
    monkeypatch.setitem(os.environ, "KEYLAKE_TOKEN", lake._server.url.partition(";token=")[2])
    with kl.connect(f"sc://127.0.0.1:{lake._server.port}") as other:
        assert other.tables() == lake.tables()


@pytest.mark.slow
def test_commands_that_read(run: Run, clicks: kl.KeyedTable) -> None:
    name = clicks.name
    assert {"name": name, "versions": "commit"} in json_of(run("tables", "--json"))
    assert json_of(run("show", name, "--json"))["key"] == ["id"]
    assert "clicks" in run("show", name).stdout
    assert json_of(run("get", name, "1", "--json")) == {"id": 1, "city": "Oslo", "clicks": 3}
    assert "Oslo" in run("get", name, "id=1").stdout
    missing = run("get", name, "9", "--json")
    assert (missing.exit_code, missing.stdout) == (1, "")
    rows = lines_of(run("sql", f"SELECT id, clicks FROM {name} ORDER BY id", "--json"))
    assert rows == [{"id": 1, "clicks": 3}, {"id": 2, "clicks": None}]
    assert "the first 1 rows" in run("sql", f"SELECT * FROM {name}", "--limit", "1").stderr
    newest, oldest = json_of(run("history", name, "--json"))
    assert (newest["stream"], oldest["stream"]) == ("web", "accounts")
    (change,) = lines_of(run("changes", name, "--after", str(oldest["snapshot_id"]), "--json"))
    assert (change["_change"], change["_after"]["clicks"]) == ("update", 3)
    explained = json_of(run("explain-row", name, "1", "--json"))
    assert explained["exists"] is True
    assert "Sum of" in run("explain-row", name, "1").stdout


@pytest.mark.slow
def test_commands_that_change(run: Run, clicks: kl.KeyedTable) -> None:
    name = clicks.name
    good = clicks.history()[0].snapshot_id
    assert json_of(run("branch", "create", name, "tmp_try", "--json")) == {"table": name, "created": "tmp_try"}
    clicks.branch("tmp_try").update([{"id": 2, "clicks": 5}])
    assert json_of(run("get", name, "2", "--branch", "tmp_try", "--json"))["clicks"] == 5
    assert {each["name"] for each in json_of(run("branch", "list", name, "--json"))} >= {"main", "tmp_try"}
    assert run("branch", "create", name, "tmp_try").stdout == f"{name} has the branch tmp_try.\n"
    assert json_of(run("publish", name, "tmp_try", "--json"))["commits"] == 1
    planned = json_of(run("undo", name, "--after", str(good), "--plan", "--json"))
    assert (planned["commits"], planned["snapshot_id"]) == (1, None)
    assert json_of(run("undo", name, "--after", str(good), "--json"))["commits"] == 1
    assert json_of(run("get", name, "2", "--json"))["clicks"] is None
    assert json_of(run("branch", "drop", name, "tmp_try", "--json")) == {"table": name, "dropped": "tmp_try"}
    assert run("compact", name, "--policy", "full", "--plan").exit_code == 0
    assert isinstance(json_of(run("compact", name, "--policy", "full", "--json")), list)
    assert json_of(run("get", name, "1", "--json")) == {"id": 1, "city": "Oslo", "clicks": 3}


def test_versions_of_event_times_are_shown_as_times(run: Run, lake: kl.Lake) -> None:
    class Visit(kl.Table, name=fresh_name("visits")):
        id: int = kl.key()
        at: datetime.datetime = kl.ordering()
        city: str | None = kl.column()

    noon = datetime.datetime(2026, 1, 1, 12, tzinfo=datetime.timezone.utc)
    visits = lake.create(Visit)
    visits.upsert([Visit(id=1, at=noon), Visit(id=2, at=noon.replace(microsecond=5))])
    visits.update([{"id": 1, "at": noon.replace(hour=11), "city": "Oslo"}])
    low = visits.history()[1].versions
    assert low is not None
    assert isinstance(low[0], int)
    span = "2026-01-01 12:00:00 to 2026-01-01 12:00:00.000005"
    for shown in (str(visits.history()), visits.history()[1:]._repr_html_(), run("history", visits.name).stdout):
        assert span in shown
    explained = visits.explain_row(id=1)
    assert explained["city"].version == low[0]
    assert "newest write has version 2026-01-01 12:00:00, commit" in str(explained)
    assert 'title="version 2026-01-01 12:00:00"' in explained._repr_html_()
    assert str(low[0]) not in run("explain-row", visits.name, "1").stdout


@pytest.mark.slow
def test_a_plain_table_is_registered(run: Run, lake: kl.Lake) -> None:
    plain, into = fresh_name("plain"), fresh_name("registered")
    lake.sql(f"CREATE TABLE {lake.catalog}.{plain} USING iceberg AS SELECT id, id * 2 AS clicks FROM range(3)")
    made = json_of(run("register", plain, "--into", into, "--key", "id", "--buckets", "2", "--json"))
    assert (made["rows_read"], made["keys_written"]) == (3, 3)
    assert json_of(run("get", into, "2", "--json")) == {"id": 2, "clicks": 4}
    assert lake.table(into).spec.buckets == 2
    with pytest.raises(kl.TableExists):
        run("register", plain, "--into", into, "--key", "id")
    assert "keys_written=3" in run("register", plain, "--key", "id").stdout


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["show", "no.table"], "no.table"),
        (["sql", "SELEC 1"], "This SQL cannot be read: Syntax error at or near 'SELEC'"),
        (["sql", "SELECT 1 / 0"], "Division by zero"),
        (["sql", "SELECT raise_error('no such row') FROM range(3)", "--json"], "no such row"),
        (["changes", "TABLE", "--after", "7"], "has expired, or never was"),
        (["get", "TABLE", "x"], "is long, and 'x' is none"),
        (["history", "TABLE", "--branch", "tmp_none"], "has no branch 'tmp_none'"),
    ],
)
def test_what_is_refused_is_one_sentence(run: Run, clicks: kl.KeyedTable, words: list[str], says: str) -> None:
    with pytest.raises(kl.KeylakeError) as refused:
        run(*(clicks.name if word == "TABLE" else word for word in words))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_doctor_looks_at_both_sides(run: Run, clicks: kl.KeyedTable, lake: kl.Lake) -> None:
    found = {each["check"]: each for each in json_of(run("doctor", "--write", "--json"))}
    assert all(each["ok"] for each in found.values())
    assert f"Spark {lake.spark.version} and Java " in found["server"]["found"]
    assert f"client {pyspark.__version__} here" in found["server"]["found"]
    assert found["server's plug-in"]["found"] == f"keylake {VERSION} there and here"
    assert found["catalog"]["found"].startswith(f"{lake.catalog}, jdbc; ")
    assert found["permission to read"]["found"].startswith("a row of ")
    assert "made, written, read and dropped" in found["permission to write"]["found"]
    assert not [row for row in lake.spark.sql("SHOW NAMESPACES").collect() if row.namespace == "keylake_doctor"]
    assert "permission to write" not in run("doctor").stdout


def test_a_doctor_says_which_side_fails(run: Run, lake: kl.Lake) -> None:
    assert lake._server is not None
    elsewhere = run("doctor", "--catalog", "sea", "--json")
    (failed,) = (each for each in json.loads(elsewhere.stdout) if not each["ok"])
    assert (elsewhere.exit_code, failed["check"]) == (1, "server's plug-in")
    assert "spark.sql.catalog.sea    io.keylake.spark.KeylakeCatalog" in failed["to_do"]
    stranger = CliRunner().invoke(
        app, ["doctor", "--lake", f"sc://localhost:{lake._server.port}", "--json"], env={"KEYLAKE_TOKEN": "wrong"}
    )
    (failed,) = (each for each in json.loads(stranger.stdout) if not each["ok"])
    assert failed["check"] == "server"
    assert "refuses the token" in failed["found"]
    assert "wrong" not in stranger.output


@pytest.mark.slow
def test_a_demo_and_a_server_for_other_processes(tmp_path: Path) -> None:
    environment = {**os.environ, "KEYLAKE_LAKE": str(tmp_path / "lake"), "COLUMNS": "200"}
    keylake = [sys.executable, "-m", "keylake"]
    shown = subprocess.run([*keylake, "demo"], env=environment, capture_output=True, text=True, check=True).stdout
    assert "lost: older version" in shown
    again = subprocess.run([*keylake, "demo", "--json"], env=environment, capture_output=True, check=True).stdout
    assert json.loads(again)["row"]["clicks"] == 5
    with subprocess.Popen(
        [*keylake, "serve", "--port", "0"], env=environment, stdout=subprocess.PIPE, text=True
    ) as serving:
        try:
            assert serving.stdout is not None
            line = serving.stdout.readline()
            address = line.split()[1].partition("=")[2]
            token = (tmp_path / "lake" / ".keylake" / "token").read_text()
            assert token not in line
            client = {**environment, "KEYLAKE_LAKE": address, "KEYLAKE_TOKEN": token}
            row = subprocess.run([*keylake, "get", "demo.user_profile", "7", "--json"], env=client, capture_output=True)
            assert json.loads(row.stdout)["clicks"] == 5
            stranger = {**client, "KEYLAKE_TOKEN": "wrong"}
            other = subprocess.run([*keylake, "tables"], env=stranger, capture_output=True, text=True)
            assert other.returncode in (1, 3)
            assert "Traceback" not in other.stderr
        finally:
            serving.send_signal(signal.SIGTERM)
