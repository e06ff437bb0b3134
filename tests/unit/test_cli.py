"""The command line without a server: what is wrong with a command, how values are read, and what is printed."""

import contextlib
import inspect
import json
import os
import re
import socket
import subprocess
import sys
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest
from typer.testing import CliRunner

import keylake as kl
from keylake._server.server import VERSION, find_jars
from keylake.cli.app import app, main
from keylake.cli.opened import _with_token
from keylake.cli.reading import key_of
from keylake.cli.serving import _kept_token
from keylake.cli.shown import show_all, show_table

DOCUMENT = Path(__file__).parents[2] / "sdk" / "docs" / "command_line.md"
RUN = CliRunner()


def ended(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    """The status with which a process ends."""
    monkeypatch.setattr(sys, "argv", ["keylake", *words])
    with pytest.raises(SystemExit) as ending:
        main()
    assert isinstance(ending.value.code, int)
    return ending.value.code


def commands() -> list[str]:
    names = [each.name or (each.callback.__name__ if each.callback else "") for each in app.registered_commands]
    return sorted([*names, *(group.name for group in app.registered_groups if isinstance(group.name, str))])


def test_help_has_every_command_and_the_document_too() -> None:
    said = RUN.invoke(app, ["--help"])
    assert said.exit_code == 0
    text = DOCUMENT.read_text()
    assert "...\n" not in said.output.partition("Commands:")[2], "commands begin with a sentence of one line"
    for command in commands():
        assert command in said.output
        assert f"`keylake {command}" in text, f"{DOCUMENT.name} says nothing of {command}"


def test_every_command_prints_json() -> None:
    groups = [app, *(group.typer_instance for group in app.registered_groups if group.typer_instance)]
    callbacks = [each.callback for group in groups for each in group.registered_commands]
    assert len(callbacks) > 18
    assert not [each for each in callbacks if each is None or "as_json" not in inspect.signature(each).parameters]


@pytest.mark.parametrize("words", [["nonsense"], ["get"], ["undo", "a.b"], ["serve", "--port", "70000"]])
def test_a_command_that_is_typed_wrongly_ends_with_2(monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    assert ended(monkeypatch, *words) == 2


def test_only_an_unknown_command_may_be_one_of_pipelines(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("keylake.cli.app.hint", lambda: "pip install 'keylake[pipelines]'.")
    for words, is_told in ((["rum", "a.yaml"], True), (["tables", "--nope"], False), (["branch", "x"], False)):
        assert ended(monkeypatch, *words) == 2
        assert ("keylake[pipelines]" in capsys.readouterr().err) is is_told


OF_ANOTHER_RELEASE = """
from keylake.extension import Extension
EXTENSION = Extension(names={"Old": "old_commands"}, commands="old_commands")
"""


def test_an_extension_of_another_release_leaves_the_other_commands(tmp_path: Path) -> None:
    (tmp_path / "old.py").write_text(OF_ANOTHER_RELEASE)
    (tmp_path / "old_commands.py").write_text("from keylake.extension import of_another_release\n")
    about = tmp_path / "old-0.0.9.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: old\nVersion: 0.0.9\n")
    (about / "entry_points.txt").write_text("[keylake.extensions]\nold = old:EXTENSION\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, *words]
        return subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)

    said = run("-m", "keylake", "--version")
    assert (said.returncode, said.stdout) == (0, f"keylake {VERSION}\n")
    told = f"old_commands cannot be imported with keylake {VERSION}: cannot import name 'of_another_release'"
    assert said.stderr.startswith(f"keylake: {told}")
    assert "Traceback" not in said.stderr
    assert f"keylake.errors.Unsupported: {told}" in run("-c", "import keylake; keylake.Old").stderr


def test_a_lake_that_is_not_there_ends_with_3(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert ended(monkeypatch, "tables", "--lake", str(tmp_path / "none")) == 3
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.startswith("keylake: There is no lake in")
    assert "keylake demo" in told.err


@pytest.mark.parametrize("words", ["tables", "branch list a.b", "get a.b -- -7", "status"])
@pytest.mark.parametrize("sign", [" ", "="])
def test_the_lake_may_stand_before_a_command_or_behind_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, words: str, sign: str
) -> None:
    monkeypatch.setenv("KEYLAKE_LAKE", str(tmp_path / "environment"))
    option = f"--lake{sign}{tmp_path / 'none'}"
    assert ended(monkeypatch, *option.split(), *words.split()) == 3
    before = capsys.readouterr().err
    assert repr(str(tmp_path / "none")) in before
    command, sign, rest = words.partition(" -- ")
    assert ended(monkeypatch, *command.split(), *option.split(), *(sign + rest).split()) == 3
    assert capsys.readouterr().err == before


def test_a_lake_without_a_command_shows_the_help(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ended(monkeypatch, "--lake", "x", "--version") == 0
    assert ended(monkeypatch, "--lake", "x") == 2


def test_a_token_on_the_command_line_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ended(monkeypatch, "tables", "--lake", "sc://host/;token=abc123") == 2
    told = capsys.readouterr().err
    assert "KEYLAKE_TOKEN" in told
    assert "abc123" not in told
    monkeypatch.delenv("KEYLAKE_TOKEN", raising=False)
    monkeypatch.setattr(sys, "argv", ["keylake", "sql", "SELECT 'token=1'", "--lake", "sc://host"])
    assert _with_token("sc://host") == "sc://host", "it is in a statement"


def test_the_settings_of_a_server() -> None:
    said = RUN.invoke(
        app, ["server-conf", "--for", "kubernetes", "--uri", "https://c:8181", "--jars", "/opt/jars", "--json"]
    )
    settings = json.loads(said.stdout)
    assert settings["spark.sql.catalog.lake.uri"] == "https://c:8181"
    jars = settings["spark.jars"].split(",")
    ours = ("keylake-server", "keylake-plain-deletes", "keylake-pipelines", "iceberg-spark-runtime")
    assert [sum(name in jar for jar in jars) for name in ours] == [1] * len(ours)
    assert all(name in str(jars) for name in ("spark-sql-kafka", "kafka-clients")), "which read topics"
    assert all(jar.startswith("local:///opt/jars/") for jar in jars)
    lines = RUN.invoke(app, ["server-conf", "--uri", "https://c:8181", "--catalog", "prod"]).stdout.splitlines()
    assert "spark.sql.catalog.prod    io.keylake.spark.KeylakeCatalog" in lines
    said = RUN.invoke(app, ["server-conf", "--for", "yarn", "--catalog-type", "hadoop"])
    assert "needs --warehouse" in said.stderr
    assert "local://" not in said.stdout, "Spark brings the jars to YARN's containers"


@pytest.mark.parametrize(
    ("catalog", "said", "printed"),
    [
        ("jdbc", "lake", "{here}/lake"),
        ("hadoop", "/data/lake", "/data/lake"),
        ("jdbc", "s3://b/lake", "s3://b/lake"),
        ("hive", "hdfs:/lake", "hdfs:/lake"),
        ("rest", "lake", "lake"),
    ],
)
def test_the_warehouse_in_server_conf_does_not_depend_on_a_directory(
    catalog: str, said: str, printed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--catalog-type", catalog, "--uri", "u", "--warehouse", said)
    settings = json.loads(RUN.invoke(app, ["server-conf", *words, "--json"]).stdout)
    assert settings["spark.sql.catalog.lake.warehouse"] == printed.format(here=tmp_path)


def test_the_settings_of_a_server_on_s3() -> None:
    words = ["--catalog-type", "jdbc", "--uri", "jdbc:postgresql://db/lake", "--warehouse", "s3://bucket/lake"]
    store = ["--store", "s3", "--endpoint", "https://minio:9000", "--region", "eu-central-1"]
    settings = json.loads(RUN.invoke(app, ["server-conf", *words, *store, "--json"]).stdout)
    catalog = "spark.sql.catalog.lake"
    assert settings[f"{catalog}.jdbc.schema-version"] == "V1", "or Iceberg lists no views"
    assert settings[f"{catalog}.io-impl"] == "org.apache.iceberg.aws.s3.S3FileIO"
    assert settings[f"{catalog}.s3.endpoint"] == "https://minio:9000"
    assert settings[f"{catalog}.s3.path-style-access"] == "true"
    assert settings[f"{catalog}.client.region"] == "eu-central-1"
    assert settings["spark.jars.packages"].startswith("org.apache.iceberg:iceberg-aws-bundle:")
    assert f"{catalog}.http-client.apache.socket-timeout-ms" in settings, "a store that does not answer is told"
    plain = json.loads(RUN.invoke(app, ["server-conf", *words, "--json"]).stdout)
    assert not any("s3." in name or "packages" in name for name in plain)
    said = RUN.invoke(app, ["server-conf", *words, "--region", "eu-central-1"])
    assert "--store s3" in said.stderr + said.stdout + str(said.exception)


def test_a_doctor_names_jars_that_a_server_does_without(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    kept = [jar for jar in find_jars() if not jar.name.startswith("keylake-pipelines")]
    monkeypatch.setattr("keylake.cli.doctor.find_jars", lambda: kept)
    said = RUN.invoke(app, ["doctor", "--lake", str(tmp_path / "none"), "--json"])
    (found,) = (each["found"] for each in json.loads(said.stdout) if each["check"] == "plug-in")
    assert found == f"keylake-server-{VERSION}.jar and {len(kept) - 1} others, without keylake-pipelines-{VERSION}.jar"


def test_a_doctor_says_what_to_do(tmp_path: Path) -> None:
    said = RUN.invoke(app, ["doctor", "--lake", str(tmp_path / "none"), "--json"])
    assert said.exit_code == 1
    found = {each["check"]: each for each in json.loads(said.stdout)}
    assert found["Python"]["ok"]
    assert not found["directory"]["ok"]
    assert "keylake demo" in found["directory"]["to_do"]


SPEC = kl.TableSpec.from_arrow(
    pa.schema([pa.field("day", pa.date32(), nullable=False), pa.field("user", pa.int64(), nullable=False)]),
    name="a.b",
    key=["day", "user"],
)


def test_keys_are_read_by_their_columns() -> None:
    key = {"day": "2026-11-23", "user": 7}
    assert {name: str(value) for name, value in key_of(SPEC, ["2026-11-23", "7"]).items()} == {
        name: str(value) for name, value in key.items()
    }
    assert key_of(SPEC, ["user=7", "day=2026-11-23"]) == key_of(SPEC, ["2026-11-23", "7"])
    by_id = kl.TableSpec.from_arrow(pa.schema([pa.field("id", pa.uuid(), nullable=False)]), name="a.c", key=["id"])
    assert key_of(by_id, [str(UUID(int=7))]) == {"id": UUID(int=7)}


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["7"], "has the key day, user, and 1 values are given"),
        (["x", "7"], "'day' of a.b is date, and 'x' is none. Write it like 2026-11-01"),
        (["2026-11-01", "x"], "'user' of a.b is long, and 'x' is none. Write it like 7"),
    ],
)
def test_keys_that_do_not_fit(words: list[str], says: str) -> None:
    with pytest.raises(kl.SchemaMismatch, match=says):
        key_of(SPEC, words)


@pytest.mark.parametrize("type_", [pa.uuid(), pa.binary(), pa.bool_(), pa.timestamp("us"), pa.timestamp("us", "UTC")])
def test_a_key_of_another_type_is_told_with_an_example_that_can_be_typed(type_: pa.DataType) -> None:
    spec = kl.TableSpec.from_arrow(pa.schema([pa.field("id", type_, nullable=False)]), name="a.c", key=["id"])
    with pytest.raises(kl.SchemaMismatch, match=r"'no key' is none\. Write it like ") as refused:
        key_of(spec, ["no key"])
    example = re.split(r",? |\.$", str(refused.value).rpartition("Write it like ")[2])[0]
    assert key_of(spec, [example])


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_and_options(shell: str) -> None:
    asked = {
        "_KEYLAKE_COMPLETE": f"complete_{shell}",
        "COMP_WORDS": "keylake explain-row --br",
        "COMP_CWORD": "2",
        "_TYPER_COMPLETE_ARGS": "keylake explain-row --br",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
    }
    said = RUN.invoke(app, [], prog_name="keylake", env=asked)
    assert said.exit_code == 0
    assert "--branch" in said.stdout


def test_a_table_in_a_pipe_is_as_wide_as_it_needs_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    show_table("a", [{"name": "x" * 300, "n": 1}, {"name": "y", "n": None}])
    assert capsys.readouterr().out.splitlines() == ["a", f" {'name':300}  n", f" {'x' * 300}  1", " y"]
    show_all("keyed tables", (), as_json=False)
    assert capsys.readouterr().out == "keyed tables: none\n"


ON_A_SCREEN = """
import os, sys
from keylake.cli.shown import show_table
rows = [{"snapshot": 1234567890123456789, "committed at": "2026-01-01 00:00:00", "why": "as long as needed " * 3}]
for width in ("120", "50", "36"):
    os.environ["COLUMNS"] = width
    show_table("", rows)
"""


def test_a_table_on_a_screen_keeps_its_words_whole(tmp_path: Path) -> None:
    screen, inner = os.openpty()
    with (tmp_path / "errors").open("w") as errors:
        running = subprocess.Popen(
            [sys.executable, "-c", ON_A_SCREEN], stdout=inner, stderr=errors, env={**os.environ, "TERM": "xterm"}
        )
        os.close(inner)
        read = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while part := os.read(screen, 4096):
                read += part
        os.close(screen)
    assert running.wait() == 0, (tmp_path / "errors").read_text()
    lines = [line.rstrip() for line in re.sub(r"\x1b\[\d*m", "", read.decode()).splitlines()]
    assert lines == [
        "snapshot             committed at         why",
        "─" * 97,
        "1234567890123456789  2026-01-01 00:00:00  as long as needed as long as needed as long as needed",
        "snapshot             committed at    why",
        "─" * 49,
        "1234567890123456789  2026-01-01      as long as",
        "                     00:00:00        needed as",
        *["                                     long as", "                                     needed as"],
        *["                                     long as", "                                     needed"],
        " snapshot      1234567890123456789",
        " committed at  2026-01-01 00:00:00",
        " why           as long as needed as",
        "               long as needed as",
        "               long as needed",
        "",
    ]  # fmt: skip


def test_bytes_are_standard_base64(capsys: pytest.CaptureFixture[str]) -> None:
    show_all("rows", [{"b": b"\xff\x00\xfb\xef", "l": [{"b": (b"\xfb\xef",)}]}], as_json=True)
    assert json.loads(capsys.readouterr().out) == [{"b": "/wD77w==", "l": [{"b": ["++8="]}]}]


def test_a_port_that_is_taken_is_told_before_a_server_is_started(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert ended(monkeypatch, "serve", "--lake", str(tmp_path / "lake"), "--port", str(port)) == 1
    assert f"cannot listen on 127.0.0.1, port {port}: Address already in use" in capsys.readouterr().err
    assert not (tmp_path / "lake").exists()


def test_a_lake_keeps_its_token_as_long_as_only_its_owner_reads_it(tmp_path: Path) -> None:
    (tmp_path / ".keylake").mkdir()
    token, file = _kept_token(tmp_path)
    assert (len(token), file.stat().st_mode & 0o777) == (43, 0o600)
    assert _kept_token(tmp_path) == (token, file)
    file.chmod(0o640)
    assert _kept_token(tmp_path)[0] != token
    assert file.stat().st_mode & 0o777 == 0o600
    file.unlink()
    file.mkdir()
    with pytest.raises(kl.StoreFailed, match=r"The token cannot be kept in .*KEYLAKE_TOKEN"):
        _kept_token(tmp_path)
