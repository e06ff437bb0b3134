"""`make coverage`: the lines of each room of the code that the tests have run, in Java and in Python.

Lines of Java are those that JUnit has run, and those that servers of the other tests have run.
"""

import csv
import json
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Lines:
    """Lines of a room that were run, of all."""

    run: int = 0
    all: int = 0

    def add(self, run: int, missed: int) -> None:
        self.run += run
        self.all += run + missed

    def __str__(self) -> str:
        return f"{100 * self.run / self.all:3.0f}%" if self.all else "   -"


def of_java(report: Path) -> dict[str, Lines]:
    """The rooms of a report of JaCoCo: the two names below io.keylake."""
    rooms: dict[str, Lines] = defaultdict(Lines)
    with report.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            if row["PACKAGE"].startswith("io.keylake."):
                room = "/".join(row["PACKAGE"].split(".")[2:4])
                rooms[room].add(int(row["LINE_COVERED"]), int(row["LINE_MISSED"]))
    return rooms


def of_python(report: Path) -> dict[str, Lines]:
    """The rooms of a report of coverage: a folder of a package, or a module beside them."""
    rooms: dict[str, Lines] = defaultdict(Lines)
    for name, found in json.loads(report.read_text())["files"].items():
        parts = Path(name).parts
        package = next((at for at, part in enumerate(parts) if part in ("keylake", "keylake_pipelines")), None)
        if package is not None:
            room = "/".join(parts[package : package + 2]).removesuffix(".py")
            rooms[room].add(found["summary"]["covered_lines"], found["summary"]["missing_lines"])
    return rooms


def told(junit: dict[str, Lines], server: dict[str, Lines], python: dict[str, Lines]) -> Iterator[str]:
    yield f"{'room of Java':34} lines  JUnit  servers"
    for room in sorted(junit.keys() | server.keys()):
        by_junit, by_server = junit.get(room, Lines()), server.get(room, Lines())
        yield f"{room:34} {max(by_junit.all, by_server.all):5}   {by_junit}     {by_server}"
    yield f"\n{'room of Python':34} lines  run"
    for room, lines in sorted(python.items()):
        yield f"{room:34} {lines.all:5}  {lines}"


if __name__ == "__main__":
    junit, server, python = map(Path, sys.argv[1:])
    print("\n".join(told(of_java(junit), of_java(server), of_python(python))))
