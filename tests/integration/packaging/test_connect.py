"""Ways in, and what a person is told where there is none."""

import gc
import os
import socket
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyspark
import pytest

import keylake as kl
from integration.shared_lake import TIME_ZONE
from integration.spark_processes import connect_server, kill
from keylake._server import opened as sessions
from keylake._server.address import Address
from keylake._server.embedded import SERVER_CLASS, EmbeddedServer
from keylake._server.server import JARS
from keylake._server.session import Session
from keylake._server.statements import Call

TOKEN = "open sesame"
SPEC = "kl.TableSpec.from_arrow(pa.schema([('k', pa.int64()), ('a', pa.string())]), name='ns.t', key='k')"


@contextmanager
def within(seconds: float) -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < seconds


def python(program: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Runs a program as a newcomer would; `kl` and `pa` are imported."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK", "PYTEST"))}
    text = f"import keylake as kl, pyarrow as pa\n{program}"
    command = [sys.executable, "-W", "error", "-c", text]
    return subprocess.run(command, cwd=folder, env=kept, capture_output=True, text=True, timeout=180)


# ------------------------------------------------------------------------------------------------- the embedded server


def test_it_is_a_spark_connect_session_and_nothing_else(lake: kl.Lake) -> None:
    assert type(lake.spark).__module__ == "pyspark.sql.connect.session"
    classic = "pyspark.sql.session", "pyspark.core.context", "py4j.java_gateway"
    gateways = [name for name in classic if getattr(sys.modules.get(name), "SparkContext", None) is not None]
    started = [getattr(sys.modules[name].SparkContext, "_active_spark_context", None) for name in gateways]
    assert not any(started)
    assert lake._server is not None
    assert lake._server._process.pid != os.getpid()


def test_its_sessions_have_the_settings_they_were_given(lake: kl.Lake) -> None:
    assert lake.spark.conf.get("spark.sql.session.timeZone") == TIME_ZONE
    assert lake.spark.sql("SELECT current_catalog()").first()[0] == lake.catalog == "lake"


def test_the_token_stays_between_the_two(lake: kl.Lake) -> None:
    server = lake._server
    assert server is not None
    token = server.url.partition("token=")[2]
    assert len(token) > 20
    arguments = Path(f"/proc/{server._process.pid}/cmdline")
    assert not arguments.exists() or token not in arguments.read_text()
    assert token not in server.log.read_text()
    assert token not in repr(lake)
    assert token not in str(Address.of(server.url))
    assert "SPARK_CONNECT_AUTHENTICATE_TOKEN" not in os.environ
    settings = {row.key: row.value for row in lake.spark.sql("SET").collect()}
    assert token not in settings.values()
    assert token not in os.environ.values()


@pytest.mark.parametrize("token", ["", ";token=wrong"])
def test_a_wrong_token(lake: kl.Lake, token: str) -> None:
    assert lake._server is not None
    with within(15), pytest.raises(kl.ServerRefused, match="token") as raised:
        kl.connect(f"sc://localhost:{lake._server.port}/{token}")
    assert "\n" not in str(raised.value)


def test_a_server_is_shared_by_the_lakes_of_a_process(lake: kl.Lake) -> None:
    assert lake._server is not None
    other = Session(lake._server.url, "lake")
    again = EmbeddedServer.shared(lake._server.setup)
    assert again is lake._server
    again.release()
    assert again.is_alive
    other.close()
    other.close()


def test_another_catalog_of_the_same_server_is_another_lake(lake: kl.Lake) -> None:
    assert lake._server is not None
    with pytest.raises(kl.ServerMissingPlugin, match="'sea' is not there") as raised:
        kl.connect(lake._server.url, catalog="sea")
    assert "spark.sql.catalog.sea    io.keylake.spark.KeylakeCatalog" in str(raised.value)


def test_clients_of_neighbouring_versions(lake: kl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """One that is a minor version ahead is served, and told what the server lacks; one that is further is refused."""
    assert lake._server is not None
    monkeypatch.setattr("keylake._server.session.VERSION", "0.2.5")
    with kl.connect(lake._server.url) as newer:
        assert newer.tables() is not None
        lacking = r"runs keylake 0\.1\.0, and this is keylake 0\.2\.5.*`no_such`\. Update the server to 0\.2\.5\.$"
        with pytest.raises(kl.Unsupported, match=lacking):
            newer._session.call(Call("no_such"))
        with pytest.raises(kl.Unsupported, match="argument named `nothing`"):
            newer._session.call(Call.of("tables", nothing=1))
    monkeypatch.setattr("keylake._server.session.VERSION", "0.3.0")
    with pytest.raises(
        kl.ServerMissingPlugin, match=r"version 0\.1\.0 of .* this is keylake 0\.3\.0.* keylake==0\.1\.0"
    ):
        kl.connect(lake._server.url)


@pytest.mark.slow
def test_two_processes_on_one_warehouse(tmp_path: Path) -> None:
    """Its path has signs of its own, the locale knows none of them, and nothing is printed that was not asked for."""
    folder = tmp_path / "größe 'n été"
    folder.mkdir()
    first = f"""
with kl.connect(memory="700m") as lake, kl.connect(memory="700m") as same:
    table = lake.create({SPEC})
    print(table.upsert([{{"k": 1, "a": "first"}}]).rows, same._server is lake._server)
    import subprocess, sys, os
    second = '''
import keylake as kl
lake = kl.connect(memory="700m")
print(lake.tables(), lake.table("ns.t").get(k=1)["a"], lake.table("ns.t").update([dict(k=2, a="second")]).rows)
os = __import__("os"); print(lake._server._process.pid); lake.__class__
'''
    ran = subprocess.run([sys.executable, "-W", "error", "-c", second], capture_output=True, text=True, timeout=120)
    print(ran.stdout, ran.stderr)
    print(table.get(k=2)["a"], len(table.history()))
"""
    ran = python(first, folder)
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    lines = ran.stdout.split("\n")
    assert lines[:2] == ["1 True", "('ns.t',) first 1"]
    assert "second 2" in lines
    wait_until_ended(int(lines[2]))
    assert (folder / "lake" / "catalog.db").is_file()
    assert len(list((folder / "lake" / ".keylake").glob("server-*.log"))) == 2


@pytest.mark.slow
def test_a_server_ends_with_its_owner_however_that_ends(tmp_path: Path) -> None:
    program = "lake = kl.connect(memory='700m'); print(lake._server._process.pid, lake._server.scratch, flush=True); "
    ran = python(program + "import os; os.kill(os.getpid(), 9)", tmp_path)
    assert ran.returncode == -9, ran.stderr
    process, scratch = ran.stdout.split()
    wait_until_ended(int(process))
    assert not Path(scratch).exists(), "the folder with the settings outlives the server"


def wait_until_ended(process: int) -> None:
    deadline = time.monotonic() + 15
    while Path(f"/proc/{process}").exists() and "State:\tZ" not in Path(f"/proc/{process}/status").read_text():
        assert time.monotonic() < deadline, "the server outlives its owner"
        time.sleep(0.2)


@pytest.mark.slow
def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    with pytest.raises(kl.ServerUnreachable, match=r"did not start: .*no\.such\.Plugin.*its log is") as raised:
        kl.connect(warehouse=tmp_path, memory="600m", settings={"spark.plugins": "no.such.Plugin"})
    assert "\n" not in str(raised.value)


# ---------------------------------------------------------------------------------------------------- servers elsewhere


@contextmanager
def plain_server(folder: Path, defaults: str = "") -> Iterator[int]:
    """The port of Spark's own Connect server with these lines as its spark-defaults.conf, started in a folder."""
    (folder / "spark-defaults.conf").write_text(defaults)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    home = Path(pyspark.__file__).parent
    settings = {"ui.enabled": "false", "connect.grpc.binding.port": port, "connect.grpc.binding.address": "127.0.0.1"}
    options = [f"--conf=spark.{name}={value}" for name, value in settings.items()]
    command = [home / "bin" / "spark-submit", *options, "--class", SERVER_CLASS, "spark-internal"]
    # With SPARK_REMOTE, which the fixture of other tests may have set, Spark's scripts would start a client.
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK_", "PYSPARK_"))}
    own = {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_CONF_DIR": str(folder)}
    with (folder / "log").open("wb") as log:
        server = subprocess.Popen(command, stdout=log, stderr=log, env=kept | own, cwd=folder)
    try:
        while not Address("127.0.0.1", port).answers(1):
            assert server.poll() is None, (folder / "log").read_text()
            time.sleep(0.2)
        yield port
    finally:
        server.terminate()
        server.wait(20)


@pytest.mark.slow
def test_a_server_without_the_plugin(tmp_path: Path) -> None:
    """It is told which lines its configuration needs, and exactly these make it one with the plug-in."""
    with plain_server(tmp_path) as port, within(60), pytest.raises(kl.ServerMissingPlugin) as raised:
        kl.connect(f"sc://localhost:{port}")
    told, lines, jars = str(raised.value).split("\n\n")
    assert "without the keylake plug-in: its catalog 'lake' is not there" in told
    assert str(JARS) in jars
    for jar in JARS.glob("*.jar"):
        (tmp_path / jar.name).symlink_to(jar)
    catalog = {"type": "hadoop", "warehouse": tmp_path / "lake"}  # of Iceberg's catalogs, the one that needs no server
    own = [f"spark.sql.catalog.lake.{name}    {value}" for name, value in catalog.items()]
    with plain_server(tmp_path, "\n".join([lines, *own])) as port, kl.connect(f"sc://localhost:{port}") as lake:
        assert lake.tables() == (), "nor is its folder"
        schema = pa.schema([("k", pa.int64()), ("a", pa.string())])
        table = lake.create(kl.TableSpec.from_arrow(schema, name="ns.t", key="k"))
        assert table.upsert([{"k": 1, "a": "x"}]).rows == 1
        for line in lines.splitlines():
            name, _, value = line.partition("    ")
            if not line.startswith(("#", "spark.jars", "spark.sql.catalog.lake.type")):
                assert lake.spark.conf.get(name) == value


def test_a_refused_client_leaves_nothing_open(lake: kl.Lake) -> None:
    """An open channel would try again and again, and write to stderr for as long as the process lives."""
    assert lake._server is not None
    known = set(sessions._KEPT)
    with pytest.raises(kl.ServerUnreachable):
        kl.connect(f"sc://127.0.0.1:{lake._server.port}/;token=secret")  # which pyspark sends by TLS only
    assert set(sessions._KEPT) == known  # one is let go of when its channel is closed


def test_nobody_there() -> None:
    with (
        within(10),
        pytest.raises(kl.ServerUnreachable, match=r"sc://localhost:1 cannot be reached.*kl.connect") as raised,
    ):
        kl.connect("sc://localhost:1/;token=secret")
    assert "secret" not in str(raised.value)


@pytest.mark.slow
def test_a_server_that_dies_is_told_by_every_verb(tmp_path: Path) -> None:
    with connect_server(tmp_path) as server:
        lake = kl.connect(server.url)
        kill(server)
        for ask in (lake.tables, lambda: lake.table("ns.t"), lambda: lake.drop("ns.t")):
            with within(15), pytest.raises(kl.ServerUnreachable, match="cannot be reached"):
                ask()
        with within(15):
            lake.close()
        with pytest.raises(kl.ServerUnreachable, match="over"):
            lake.tables()


def test_spark_remote_stands_for_a_url(lake: kl.Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    assert lake._server is not None
    monkeypatch.setenv("SPARK_REMOTE", lake._server.url)
    with kl.connect() as other:
        assert other._server is None
        assert other.spark is not lake.spark
        assert repr(other) == f"Lake('lake' at sc://localhost:{lake._server.port})"


def test_words_that_do_not_go_together() -> None:
    for words in ({"warehouse": "x"}, {"memory": "1g"}, {"settings": {"a": "b"}}):
        with pytest.raises(kl.DefinitionError, match="url"):
            kl.connect("sc://localhost:1", **words)  # type: ignore[arg-type]


def test_a_frame_of_another_session_is_refused(lake: kl.Lake) -> None:
    assert lake._server is not None
    with kl.connect(lake._server.url) as other, pytest.raises(kl.BadRows, match=r"lake\.spark"):
        lake._session.is_frame(other.spark.range(1))


def test_closed_sessions_are_let_go_of(lake: kl.Lake) -> None:
    """Each open one is kept; a closed one is collected, and what is left of it says that it is closed."""
    before = set(sessions._KEPT)
    frames = []
    for _ in range(3):
        with kl.connect(lake._server.url) as other:  # type: ignore[union-attr]
            frames.append(other.spark.range(3))
            assert len(sessions._KEPT) == len(before) + 1
    assert set(sessions._KEPT) == before
    with pytest.raises(Exception, match="session"):
        frames[0].collect()
    ended = weakref.ref(frames[0].sparkSession)
    frames.clear()
    del other
    gc.collect()
    assert ended() is None
    assert lake.spark.range(3).count() == 3


def test_a_call_needs_no_thread_for_its_token(lake: kl.Lake) -> None:
    """A session that is collected in such a thread waits for the call, and the call for the thread."""
    seen: set[str] = set()
    threading.setprofile(lambda frame, *_: seen.add(Path(frame.f_code.co_filename).name))
    try:
        with kl.connect(lake._server.url) as other:  # type: ignore[union-attr]
            assert [session.spark.range(3).count() for session in (lake, other)] == [3, 3]
    finally:
        threading.setprofile(None)
    assert "_channel.py" in seen
    assert not seen & {"_auth.py", "_plugin_wrapping.py"}


def test_the_port_of_a_server_is_its_own(lake: kl.Lake) -> None:
    server = lake._server
    assert server is not None
    assert int((server.scratch / "port").read_text()) == server.port
    with socket.socket() as other, pytest.raises(OSError, match="in use"):
        other.bind(("127.0.0.1", server.port))
