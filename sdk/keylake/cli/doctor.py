"""The command `doctor`: what is there, whether it fits, and what to do where it does not."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import secrets
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import pyarrow as pa
import typer

import keylake as kl
from keylake._server.address import TOKEN
from keylake._server.channel import SPARK
from keylake._server.embedded import check_java
from keylake._server.server import GUEST_JARS, VERSION, find_jars
from keylake.cli.opened import USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, opened
from keylake.cli.shown import JsonOption, show_all, show_table

OLDEST_PYTHON = (3, 10)
PROBES = "keylake_doctor"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what was found, and what to do where that does not do."""

    check: str
    ok: bool
    found: str
    to_do: str | None = None


WriteOption = Annotated[bool, typer.Option("--write", help="Also make a table, write to it, read it and drop it.")]


def doctor(
    lake: LakeOption = USUAL_LAKE,
    catalog: CatalogOption = USUAL_CATALOG,
    write: WriteOption = False,
    as_json: JsonOption = False,
) -> None:
    """Look for what is missing, and say what to do. The status is 1 where something fails.

    It looks at Python, Java, Spark, the plug-in, the server and the lake.

    Of a server elsewhere, sc://, it looks at what that server has: its Spark, its Java, its plug-in and its catalog.
    """
    is_remote = lake.startswith("sc://")
    checks: list[Callable[[], Finding]] = [_python, lambda: _pyspark("client" if is_remote else "server")]
    checks += [_token] if is_remote else [_java, _plugin, lambda: _directory(Path(lake))]
    findings = [check() for check in checks]
    if all(each.ok for each in findings):
        findings += _lake(lake, catalog, write)
    if as_json:
        show_all("", findings, as_json)
    else:
        rows = [
            {"check": each.check, "": "ok" if each.ok else "fails", "found": each.found, "to do": each.to_do}
            for each in findings
        ]
        show_table("keylake doctor", rows)
    if not all(each.ok for each in findings):
        raise typer.Exit(1)


def _python() -> Finding:
    found = f"{platform.python_version()} at {sys.executable}"
    ok = sys.version_info >= OLDEST_PYTHON
    return Finding("Python", ok, found, None if ok else "Use Python 3.10 or newer.")


def _spark_packages() -> dict[str, str]:
    """The packages that have Spark's Python client, with their versions."""
    found: dict[str, str] = {}
    for name in ("pyspark", "pyspark-client"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
    return found


def _pyspark(extra: str) -> Finding:
    found = _spark_packages()
    install = f"pip install 'keylake[{extra}]'"
    if len(set(found.values())) > 1:  # they lie in one folder: files of one are those of the other
        install = f"pip uninstall --yes {' '.join(found)} && {install}"
    elif extra == "server" and "pyspark" not in found:
        install = f"{install}: it carries Spark"
    elif found and all(version.startswith(f"{SPARK}.") for version in found.values()):
        install = ""
    said = ", ".join(f"{name} {version}" for name, version in found.items())
    return Finding("Spark", not install, said or "no pyspark", install or None)


def _java() -> Finding:
    try:
        java = check_java()
    except kl.KeylakeError as error:
        return Finding("Java", False, str(error).partition(". ")[0], str(error).partition(". ")[2])
    where = f"JAVA_HOME={java.home}" if java.home else f"{java.command}, on the path"
    return Finding("Java", True, f"Java {java.version}, {where}")


def _plugin() -> Finding:
    try:
        jars = find_jars()
    except kl.KeylakeError as error:
        return Finding("plug-in", False, *_told(error))
    found = f"{jars[0].name} and {len(jars) - 1} others"
    missing = [name for name in GUEST_JARS if name not in {jar.name for jar in jars}]
    return Finding("plug-in", True, f"{found}, without {' and '.join(missing)}" if missing else found)


def _directory(lake: Path) -> Finding:
    if not lake.is_dir():
        to_do = "Name the directory of a lake with --lake, or make one: keylake demo."
        return Finding("directory", False, f"{lake} is no directory", to_do)
    can = [word for word, mode in (("read", os.R_OK), ("write", os.W_OK)) if os.access(lake, mode | os.X_OK)]
    ok = len(can) == 2
    found = f"{lake.resolve()}: {' and '.join(can) or 'no permission'}"
    return Finding("directory", ok, found, None if ok else "Give this user permission to read and write there.")


def _token() -> Finding:
    found = f"{TOKEN} is {'set' if os.environ.get(TOKEN) else 'not set'}"
    return Finding("token", True, found)


def _lake(lake: str, catalog: str, write: bool) -> list[Finding]:
    """The findings about the server, up to the first thing that fails."""
    from pyspark.errors import PySparkException

    findings: list[Finding] = []
    check = "server"
    try:
        with opened(lake, catalog) as found:
            java = found.spark.sql("SELECT java_method('java.lang.System', 'getProperty', 'java.version')")
            here = importlib.metadata.version("pyspark" if "pyspark" in _spark_packages() else "pyspark-client")
            spark = f"Spark {found.spark.version} and Java {java.toArrow()[0][0]} there, Spark's client {here} here"
            findings.append(Finding("server", True, spark))
            findings.append(Finding("server's plug-in", True, _versions(found)))
            check = "catalog"
            kind = found.spark.conf.get(f"spark.sql.catalog.{catalog}.type", "of a class of its own")
            tables = found.tables()
            findings.append(
                Finding(
                    "catalog", True, f"{catalog}, {kind}; {len(tables)} keyed table{'' if len(tables) == 1 else 's'}"
                )
            )
            findings += [Finding(f"table {each.name}", False, each.problem) for each in tables if each.problem]
            check = "permission to read"
            sample = next((each.name for each in tables if each.problem is None), None)
            if sample is not None:
                found.table(sample).read().limit(1).collect()
            said = "the list of tables; there is none to read" if sample is None else f"a row of {sample}"
            findings.append(Finding(check, True, said))
            if write:
                check = "permission to write"
                findings.append(Finding(check, True, _written(found)))
    except kl.ServerMissingPlugin as error:
        findings.append(Finding("server's plug-in", False, *_told(error)))
    except (kl.KeylakeError, PySparkException) as error:
        findings.append(Finding(check, False, *_told(error)))
    return findings


def _versions(lake: kl.Lake) -> str:
    there = lake._session.server_version  # pyright: ignore[reportPrivateUsage]
    return f"keylake {VERSION} there and here" if there == VERSION else f"keylake {there} there, {VERSION} here"


def _written(lake: kl.Lake) -> str:
    """Write to a table of its own, which is gone afterwards."""
    from pyspark.errors import PySparkException

    spec = kl.TableSpec.from_arrow(
        pa.schema([("id", pa.int64()), ("n", pa.int64())]), name=f"{PROBES}.t{secrets.token_hex(8)}", key="id"
    )
    table = lake.create(spec)
    try:
        table.upsert([{"id": 1, "n": 1}])
        if table.get(id=1) is None:
            raise kl.KeylakeError(f"A row that was written to {table.name!r} cannot be read.")
    finally:
        lake.drop(table.name)
        with contextlib.suppress(PySparkException):  # another doctor may be at work there
            lake.spark.sql(f"DROP NAMESPACE {lake.catalog}.{PROBES}").collect()
    return f"a table in {PROBES} was made, written, read and dropped"


def _told(error: Exception) -> tuple[str, str]:
    """The finding of an error, and what to do: its first sentence, and the others."""
    found, _, to_do = str(error).partition("\n\nJVM stacktrace:")[0].partition(". ")
    return found, to_do or "operations.md says what a server needs."
