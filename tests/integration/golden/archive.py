"""Archives of golden lakes: made once by the code of their day, unpacked where they were made, read and written on.

Paths in Iceberg's metadata are absolute. So an archive is unpacked to the folder that it was written in; a lock beside
that folder makes others that want it wait. `PYTHONPATH=tests .venv/bin/python tests/integration/golden/archive.py NAME`
makes a new archive; there is no way to write an old one again.
"""

import fcntl
import os
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import keylake as kl
from integration.golden import range_reducer
from integration.golden.features import write_features
from integration.golden.tables import TABLES
from integration.reducers.acme_jar import acme_jar

ARCHIVES = Path(__file__).parents[2] / "cases" / "golden"
SETTINGS = {
    "spark.sql.session.timeZone": "UTC",
    "spark.keylake.maintenance.enabled": "false",
    "spark.keylake.reducers": f"{range_reducer.__name__}.Range, com.acme.Examples$Median",
}


def place_of(name: str) -> Path:
    """The folder of the lake of that name, the same on every machine."""
    return Path(f"/tmp/keylake-golden-{name}")


@contextmanager
def alone(name: str) -> Iterator[Path]:
    """The folder, empty, which no other process has meanwhile."""
    place = place_of(name)
    with place.with_suffix(".lock").open("a") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        try:
            yield place
        finally:
            shutil.rmtree(place)


@contextmanager
def opened(place: Path) -> Iterator[kl.Lake]:
    """The lake in a folder, on a server that finds the reducers of users in Java and in Python."""
    with tempfile.TemporaryDirectory() as classes, pytest.MonkeyPatch.context() as patched:
        tests = str(Path(__file__).parents[2])
        patched.setenv("PYTHONPATH", os.pathsep.join([tests, os.environ.get("PYTHONPATH", "")]))
        settings = SETTINGS | {"spark.jars": str(acme_jar(Path(classes)))}
        with kl.connect(warehouse=place / "lake", memory="1g", settings=settings, writer="golden") as lake:
            yield lake


@contextmanager
def unpacked(name: str) -> Iterator[kl.Lake]:
    """The lake of an archive, opened."""
    with alone(name) as place:
        with tarfile.open(ARCHIVES / f"{name}.tar.xz") as archive:
            archive.extractall(place, filter="data")
        with opened(place) as lake:
            yield lake


def write(name: str) -> Path:
    """Write a lake and pack it."""
    packed = ARCHIVES / f"{name}.tar.xz"
    if packed.exists():
        sys.exit(f"{packed.name} is there, and shows what the code of its day wrote: take another name.")
    with alone(name) as place:
        with opened(place) as lake:
            for table, golden in TABLES.items():
                golden.write(lake, table)
            write_features(lake, place)
        shutil.rmtree(place / "lake" / ".keylake")
        with tarfile.open(packed, "w:xz", preset=9) as archive:
            for path in sorted(place.rglob("*")):
                archive.add(path, path.relative_to(place), recursive=False, filter=nobodys)
    return packed


def nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Without the user's name."""
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    made = write(sys.argv[1])
    print(f"{made.name}: {made.stat().st_size:,} bytes")
