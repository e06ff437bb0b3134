"""What an embedded server is configured with, and what is refused before one is started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import keylake as kl
from keylake._server.address import Address
from keylake._server.embedded import (
    LOG_DIRECTORY,
    MOST_LOGS,
    EmbeddedServer,
    _new_log,
    check_java,
    checked_warehouse,
    start_limit,
)
from keylake._server.server import (
    CATALOG_CLASS,
    EXTENSIONS,
    Setup,
    check_catalog_name,
    embedded_settings,
    find_jars,
    lines_to_add,
    properties_text,
)

JARS = (Path("/jars/keylake.jar"), Path("/jars/iceberg.jar"))


def settings(**setup: object) -> dict[str, str]:
    made = Setup(Path("/data/my lake"), **setup)  # type: ignore[arg-type]
    return embedded_settings(made, JARS, Path("/scratch"))


def test_the_catalog_is_a_file_in_the_warehouse() -> None:
    prefix = "spark.sql.catalog.shop"
    made = settings(catalog="shop")
    assert {name: value for name, value in made.items() if name.startswith(prefix)} == {
        prefix: "io.keylake.spark.KeylakeCatalog",
        f"{prefix}.type": "jdbc",
        f"{prefix}.uri": "jdbc:sqlite:/data/my lake/catalog.db?busy_timeout=30000",
        f"{prefix}.jdbc.schema-version": "V1",
        f"{prefix}.warehouse": "/data/my lake",
        f"{prefix}.cache-enabled": "false",
    }
    assert made["spark.sql.defaultCatalog"] == "shop"
    assert made["spark.sql.session.timeZone"] == "UTC"


def test_it_listens_on_the_loopback_interface_only() -> None:
    made = settings()
    listens = [value for name, value in made.items() if "bind" in name.lower() and "port" not in name]
    assert listens == ["127.0.0.1", "127.0.0.1"]
    assert (made["spark.driver.host"], made["spark.ui.enabled"]) == ("127.0.0.1", "false")


def test_the_system_chooses_its_port_when_it_is_bound() -> None:
    """Another process can have a port that is chosen before, and would get the token."""
    made = settings()
    assert made["spark.connect.grpc.binding.port"] == "0"
    assert made["spark.keylake.port-file"] == "/scratch/port"


def test_it_ends_with_its_owner() -> None:
    assert settings()["spark.keylake.owner.pid"] == str(os.getpid())


def test_settings_of_the_caller_win_and_jars_are_added() -> None:
    more = (
        ("spark.jars", "/more.jar"),
        ("spark.driver.extraClassPath", "/own"),
        ("spark.sql.extensions", "my.Extensions"),
        ("spark.sql.ansi.enabled", "false"),
    )
    made = settings(memory="4g", settings=(*more, ("spark.ui.enabled", "true")))
    assert made["spark.jars"] == "/more.jar"
    assert made["spark.driver.extraClassPath"] == "/jars/keylake.jar:/jars/iceberg.jar:/own"
    on_cluster = settings(settings=(("spark.master", "spark://host:7077"), *more))
    assert on_cluster["spark.jars"] == "/jars/keylake.jar,/jars/iceberg.jar,/more.jar"
    assert on_cluster["spark.driver.extraClassPath"] == "/own"
    assert made["spark.sql.extensions"] == f"{EXTENSIONS},my.Extensions"
    assert (made["spark.sql.ansi.enabled"], made["spark.ui.enabled"]) == ("false", "true")
    assert made["spark.driver.memory"] == "4g"


@pytest.mark.parametrize("memory", ["", "4", "g", "4 g", "4gb", "-1g", "0g", "1.5g"])
def test_memory_is_a_number_and_a_unit(memory: str) -> None:
    with pytest.raises(kl.DefinitionError, match="memory="):
        settings(memory=memory)


@pytest.mark.parametrize("value", ["plain", "a b", "a=b:c#d!e", "größe\\n", "tab\t line\n", "😀", "'\"`", ""])
def test_a_properties_file_says_the_same(value: str) -> None:
    text = properties_text({"spark.name": value})
    assert text.isascii()
    assert text.count("\n") == 1
    escaped = text.removeprefix("spark.name=").removesuffix("\n")
    assert escaped.encode().decode("unicode_escape").encode("utf-16", "surrogatepass").decode("utf-16") == value


def test_lines_to_add_are_those_of_the_contract() -> None:
    lines = lines_to_add("shop").splitlines()
    assert lines[0].startswith("spark.jars    keylake-server-")
    assert lines[1] == f"spark.sql.extensions    {EXTENSIONS}"
    assert lines[2] == f"spark.sql.catalog.shop    {CATALOG_CLASS}"


@pytest.mark.parametrize("catalog", ["", "a.b", "a b", "a-b", "größe", "1a", "a`"])
def test_a_catalog_name_is_plain(catalog: str) -> None:
    with pytest.raises(kl.DefinitionError, match="catalog"):
        check_catalog_name(catalog)
    with pytest.raises(kl.DefinitionError, match="catalog"):
        kl.connect(catalog=catalog)


def test_jars_that_are_not_there(tmp_path: Path) -> None:
    (tmp_path / "sqlite-jdbc-3.jar").touch()
    with pytest.raises(kl.ServerMissingPlugin, match=r"has no keylake-server-.*\. Install them: .*make build"):
        find_jars(tmp_path)
    with pytest.raises(kl.ServerMissingPlugin, match="keylake-server is not installed"):
        find_jars(tmp_path / "none")


@pytest.mark.parametrize("path", ["s3://bucket/lake", "file:///data/lake", "hdfs:/x", "what?", "a#b", "100%"])
def test_a_warehouse_is_a_local_directory(path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kl.DefinitionError, match=r"warehouse|lake"):
        kl.connect(warehouse=path)
    assert not list(tmp_path.iterdir())


def test_a_warehouse_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(kl.DefinitionError, match="cannot be used"):
        checked_warehouse(tmp_path / "file")


def test_a_warehouse_may_have_any_other_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    path = checked_warehouse("größe 'n/été; &")
    assert path == tmp_path.resolve() / "größe 'n" / "été; &"
    assert path.is_dir()


def java(folder: Path, said: str) -> Path:
    """A directory like that of a JDK, whose Java says this about its version."""
    (folder / "bin").mkdir(parents=True)
    script = folder / "bin" / "java"
    script.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    script.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ('openjdk version "1.8.0_392"', "is Java 8"),
        ('openjdk version "11.0.2" 2019-01-15', "is Java 11"),
        ('openjdk version "24" 2025-03-18', "is Java 24"),
        ('openjdk version "25.0.1" 2025-10-21 LTS', "is Java 25.*Java 17 to 23"),
        ("Unable to locate a Java Runtime.", "no version"),
    ],
)
def test_a_java_that_will_not_do(said: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "jdk", said)))
    with pytest.raises(kl.ServerUnreachable, match=f"{words}.*install"):
        check_java()


@pytest.mark.parametrize("said", ['openjdk version "17.0.15" 2025-04-15', 'java version "21" 2023-09-19'])
def test_a_java_that_will_do(said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java(tmp_path / "jdk", said)))
    assert check_java().home == str(tmp_path / "jdk")
    assert check_java().version in (17, 21)


def test_no_java_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(kl.ServerUnreachable, match=r"No Java was found in JAVA_HOME=.*install"):
        check_java()
    monkeypatch.delenv("JAVA_HOME")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(kl.ServerUnreachable, match=r"No Java was found\. .*install"):
        check_java()


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("sc://localhost", "sc://localhost:15002"),
        ("sc://spark.internal:443/;use_ssl=true;token=abc", "sc://spark.internal:443"),
        ("sc://[::1]:15002", "sc://[::1]:15002"),
    ],
)
def test_an_address_without_its_secrets(url: str, address: str) -> None:
    assert str(Address.of(url)) == address


@pytest.mark.parametrize(
    "url", ["", "localhost:15002", "local[2]", "spark://localhost:7077", "sc://", "sc://host:port"]
)
def test_an_address_that_is_none(url: str) -> None:
    with pytest.raises(kl.DefinitionError, match="sc://host:15002"):
        Address.of(url)


def test_logs_of_servers_that_run_are_kept(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    directory = tmp_path / LOG_DIRECTORY
    directory.mkdir()

    def log(count: int, pid: object) -> Path:
        path = directory / f"server-20250101-{count:06d}-{pid}-ab12.log"
        path.touch()
        return path

    running = [log(count, pid) for count, pid in enumerate([os.getpid(), os.getppid()])]
    old = [log(10 + count, ended.pid) for count in range(3)] + [log(20, "9" * 30), log(21, "nobody")]
    newest = [log(30 + count, ended.pid) for count in range(MOST_LOGS)]
    new = _new_log(tmp_path)
    assert sorted(directory.iterdir()) == [*running, *newest, new]
    assert not any(path.exists() for path in old)


def test_an_exit_while_a_server_is_asked_is_no_reason_to_ask_again() -> None:
    from keylake._server.opened import few_tries

    assert not few_tries().can_retry(SystemExit("stopped"))
    assert not few_tries().can_retry(SystemExit(1))
    assert not few_tries().can_retry(KeyboardInterrupt())


def test_how_long_a_server_may_take_to_start(monkeypatch: pytest.MonkeyPatch) -> None:
    assert start_limit() == 120
    monkeypatch.setenv("KEYLAKE_START_SECONDS", "300")
    assert start_limit() == 300
    for wrong in ("soon", "0", "-1", "inf", "nan"):
        monkeypatch.setenv("KEYLAKE_START_SECONDS", wrong)
        with pytest.raises(kl.DefinitionError, match=rf"KEYLAKE_START_SECONDS is '{wrong}'. Use a number of seconds"):
            start_limit()


def test_a_server_that_takes_too_long_says_what_it_waits_for(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("KEYLAKE_START_SECONDS", "0.01")
    with pytest.raises(
        kl.ServerUnreachable, match=r"has not opened its port within 0\.01 s.*KEYLAKE_START_SECONDS=0\.02"
    ):
        EmbeddedServer(Setup(checked_warehouse(tmp_path)))
