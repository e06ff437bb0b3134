"""The licences of what the wheels need and carry: each is in a list, so that a new one is a decision."""

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parents[2]
# Permissive licences. Metadata without an expression of SPDX names them in words, or with a classifier.
PERMISSIVE = {
    *("0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MIT-0", "MIT-CMU", "PSF-2.0", "Zlib"),
    *("Apache 2", "3-Clause BSD License", "ISC License (ISCL)"),
    *("Apache Software License", "BSD License", "MIT License", "Python Software Foundation License"),
}
# Licences that bind those who change the package itself: used as released, from its own wheel, it may be needed.
USED_AS_RELEASED = {"certifi": "Mozilla Public License 2.0 (MPL 2.0)", "psycopg": "LGPL-3.0-only"}
# The packages that `pip install` adds for the user, of which those of Spark are in the environment as `pyspark`.
SHIPPED = "keylake[server,client,pipelines,plots,pandas,polars]"
ELSEWHERE = {"keylake-server", "pyspark-client"}


def needed(wanted: str, found: dict[str, set[str]]) -> None:
    """Adds to `found` what `wanted` needs on this machine, by name, with the extras of each."""
    requirement = Requirement(wanted)
    name = canonicalize_name(requirement.name)
    extras = {"", *requirement.extras}
    if name in ELSEWHERE or extras <= found.get(name, set()):
        return
    try:
        package = distribution(name)
    except PackageNotFoundError:
        raise AssertionError(f"{name} is not in the environment: its licence is unknown") from None
    found.setdefault(name, set()).update(extras)
    for each in package.requires or []:
        marker = Requirement(each).marker
        if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras):
            needed(each, found)


def licenses_of(name: str) -> set[str]:
    """The licences of a package as its metadata says: the expression, the classifiers, or one line of text."""
    metadata = distribution(name).metadata
    if expression := metadata.get("License-Expression"):
        return set(re.split(r" (?:AND|OR) ", expression.strip("()")))
    classifiers = metadata.get_all("Classifier") or []
    classified = {each.rpartition(" :: ")[2] for each in classifiers if each.startswith("License :: ")}
    return classified or {metadata.get("License", "").partition("\n")[0]}


def test_every_package_has_a_listed_license() -> None:
    found: dict[str, set[str]] = {}
    needed(SHIPPED, found)
    assert {"pyiceberg", "pyspark", "psycopg", "polars"} <= set(found)
    others = {name: said for name in found if (said := licenses_of(name) - PERMISSIVE)}
    bound = {name.removesuffix("-binary"): " ".join(sorted(said)) for name, said in others.items()}
    assert bound == USED_AS_RELEASED


def test_the_notice_names_every_library_in_the_wheel_of_jars() -> None:
    notice = (ROOT / "server_plugins/NOTICE").read_text()
    jars = {jar.name for jar in (ROOT / "sdk/keylake/jars").glob("*.jar") if not jar.name.startswith("keylake-")}
    names = {re.sub(r"(-4\.\d)?(_2\.13)?-[\d.]+jar$", "", jar) for jar in jars}
    assert len(names) == 6
    assert not {name for name in names if name not in notice}
