"""The command `doctor`: what is there, whether it fits, and what to do where it does not."""

from __future__ import annotations

import contextlib
import importlib.metadata
import os
import platform
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import typer

import keylake as kl
from keylake._server.channel import SPARK
from keylake._server.embedded import check_java
from keylake._server.server import VERSION, find_jars
from keylake.cli.opened import TOKEN, USUAL_CATALOG, USUAL_LAKE, CatalogOption, LakeOption, opened
from keylake.cli.shown import JsonOption, show_all, show_table

OLDEST_PYTHON = (3, 10)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what was found, and what to do where that does not do."""

    check: str
    ok: bool
    found: str
    to_do: str | None = None


def doctor(lake: LakeOption = USUAL_LAKE, catalog: CatalogOption = USUAL_CATALOG, as_json: JsonOption = False) -> None:
    """Look at Python, Java, Spark, the plug-in and the lake, and say what to do; the status is 1 where one fails."""
    is_remote = lake.startswith("sc://")
    checks: list[Callable[[], Finding]] = [_python, lambda: _pyspark("client" if is_remote else "server")]
    checks += [_token] if is_remote else [_java, _plugin, lambda: _directory(Path(lake))]
    findings = [check() for check in checks]
    if all(each.ok for each in findings):
        findings.append(_lake(lake, catalog))
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


def _pyspark(extra: str) -> Finding:
    found: dict[str, str] = {}
    for name in ("pyspark", "pyspark-client"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[name] = importlib.metadata.version(name)
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
        home = check_java()
    except kl.KeylakeError as error:
        return Finding("Java", False, str(error).partition(". ")[0], str(error).partition(". ")[2])
    return Finding("Java", True, f"JAVA_HOME={home}" if home else "on the path")


def _plugin() -> Finding:
    try:
        jars = find_jars()
    except kl.KeylakeError as error:
        return Finding("plug-in", False, "the jars are not there", str(error))
    return Finding("plug-in", True, f"{', '.join(jar.name for jar in jars)} for keylake {VERSION}")


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


def _lake(lake: str, catalog: str) -> Finding:
    try:
        with opened(lake, catalog) as found:
            tables = len(found.tables())
            spark = found.spark.version
    except kl.KeylakeError as error:
        return Finding("server", False, str(error), "Look at the sentence; operations.md says what a server needs.")
    return Finding("server", True, f"Spark {spark} with keylake {VERSION}, catalog {catalog!r}, {tables} keyed tables")
