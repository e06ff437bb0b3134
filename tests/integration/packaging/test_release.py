"""A release: what `make release` lists of its parts, and that the same sources give the same bytes."""

import json
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BUILT_FROM = ("sdk", "server_plugins", "README.md", "LICENSE", "CHANGELOG.md", "Makefile", "pyproject.toml")
MADE = shutil.ignore_patterns("target", "jars", "__pycache__", ".*_cache", "*.egg-info")


def run(*command: str | Path, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=800)
    assert done.returncode == 0, done.stderr + done.stdout


def copied(folder: Path) -> Path:
    """A copy of what the wheels are built from, in this folder."""
    folder.mkdir(parents=True)
    for name in BUILT_FROM:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=MADE, copy_function=shutil.copyfile)
        else:
            shutil.copyfile(ROOT / name, folder / name)
    (folder / "server_plugins/mvnw").chmod(0o755)
    return folder


def hashes_of_a_build(folder: Path, umask: int) -> dict[str, str]:
    """The hashes of the wheels of these sources, which are built with this mask of permissions."""
    run("sh", "-c", f"umask {umask:03o} && make build", cwd=folder)
    wheel = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "dist",
    ]
    run(*wheel, ".", "./sdk/keylake_pipelines", "./server_plugins", cwd=folder)
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("dist/*.whl"))}


@pytest.mark.nightly
def test_the_same_sources_give_the_same_bytes(tmp_path: Path) -> None:
    one, another = copied(tmp_path / "one"), copied(tmp_path / "another folder" / "deeper")
    first = hashes_of_a_build(one, umask=0o022)
    assert len(first) == 3
    assert hashes_of_a_build(another, umask=0o077) == first


@pytest.mark.nightly
def test_a_release_lists_its_parts(tmp_path: Path) -> None:
    run("make", "release", f"DIST={tmp_path}", cwd=ROOT)
    run("sha256sum", "--check", "--strict", "SHA256SUMS", cwd=tmp_path)
    summed = {line.split()[1] for line in (tmp_path / "SHA256SUMS").read_text().splitlines()}
    assert summed == {path.name for path in tmp_path.iterdir()} - {"SHA256SUMS"}
    assert len([name for name in summed if name.endswith(".whl")]) == 3

    jars = json.loads((tmp_path / "jars.cdx.json").read_text())
    assert jars["bomFormat"] == "CycloneDX"
    carried = {jar.name for jar in (ROOT / "sdk/keylake/jars").glob("*.jar") if not jar.name.startswith("keylake-")}
    assert {f"{each['name']}-{each['version']}.jar" for each in jars["components"]} == carried
    assert {said["license"]["id"] for each in jars["components"] for said in each["licenses"]} == {"Apache-2.0"}
    assert all(each["hashes"] for each in jars["components"])

    python = json.loads((tmp_path / "python.cdx.json").read_text())
    names = {each["name"].lower() for each in python["components"]}
    assert {"keylake-server", "keylake-pipelines", "pyspark", "pyiceberg", "psycopg"} <= names
    assert not names & {"pytest", "ruff", "cyclonedx-bom", "pip"}
    licenses = (tmp_path / "licenses.md").read_text().lower()
    assert all(f"| {each['name'].lower()} " in licenses for each in python["components"] if each["name"] != "keylake")
