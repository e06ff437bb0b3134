"""The wheel alone is enough: an empty environment, the wheel, and the README's example on the server it carries."""

import os
import re
import shutil
import subprocess
import sys
import venv
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
BUILD = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs `command` as a newcomer would: without the variables that this test session may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK", "PYTEST"))}
    return subprocess.run(
        command, cwd=cwd, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    built = run(sys.executable, "-m", *BUILD, "--wheel-dir", folder, ROOT, cwd=folder)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("keylake-*.whl")
    return wheel


def test_it_carries_the_jars_and_its_types(wheel: Path) -> None:
    names = ZipFile(wheel).namelist()
    jars = sorted(Path(name).name for name in names if name.startswith("keylake/jars/"))
    assert [re.sub(r"-[\d.]+jar$", "", jar) for jar in jars] == [
        "iceberg-spark-runtime-4.1_2.13",
        "keylake-server",
        "sqlite-jdbc",
    ]
    assert "keylake/py.typed" in names
    assert not [name for name in names if not name.startswith("keylake")]


def test_it_is_not_built_without_the_jars(tmp_path: Path) -> None:
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tmp_path)
    shutil.copytree(ROOT / "sdk", tmp_path / "sdk", ignore=shutil.ignore_patterns("jars", "__pycache__"))
    built = run(sys.executable, "-m", *BUILD, "--wheel-dir", tmp_path / "dist", tmp_path, cwd=tmp_path)
    assert built.returncode != 0
    assert "run `make build` first" in built.stderr
    assert not list(tmp_path.glob("dist/*"))


@pytest.mark.slow
def test_it_runs_the_readme_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    venv.create(environment, with_pip=False, symlinks=True)
    python = environment / "bin" / "python"

    # The versions of the lock, so that today's releases cannot change the outcome.
    locked = re.findall(
        r"^([a-z0-9-]+==\S+(?: ; .+)?) \\$", (ROOT / "sdk/requirements.lock").read_text(), flags=re.MULTILINE
    )
    (tmp_path / "locked.txt").write_text("\n".join(locked))
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", "--no-compile"]
    installed = run(*pip, "--constraint", tmp_path / "locked.txt", wheel, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr

    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    ran = run(python, "example.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "clicks=4 city='Oslo'" in ran.stdout
    assert (tmp_path / "lake" / "catalog.db").exists()
