"""The wheel alone is enough: an empty environment, the wheel, and the README's example on the server it carries."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).parents[3]
# All other tests run on this one.
OTHER_PYTHONS = [f"3.{minor}" for minor in (10, 11, 12, 13) if minor != sys.version_info.minor]
EVERY_VERB = Path(__file__).with_name("every_verb.py")
BUILD = ["pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]


def run(*command: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Runs `command` as a newcomer would: without the variables that this test session may have set."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "SPARK", "PYTEST"))}
    return subprocess.run(
        command, cwd=cwd, env=kept, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=600
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


def installed(interpreter: str | Path, folder: Path, *packages: str | Path) -> Path:
    """A Python with these packages and what they need; the versions are the lock's, whatever was released since."""
    made = run(interpreter, "-m", "venv", "--without-pip", folder, cwd=folder.parent)
    assert made.returncode == 0, made.stderr
    locked = re.findall(
        r"^([a-z0-9-]+==\S+(?: ; .+)?) \\$", (ROOT / "sdk/requirements.lock").read_text(), flags=re.MULTILINE
    )
    (folder / "locked.txt").write_text("\n".join(locked))
    python = folder / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-compile"]
    done = run(*pip, "--constraint", folder / "locked.txt", *packages, cwd=folder)
    assert done.returncode == 0, done.stderr
    return python


@pytest.mark.slow
def test_it_runs_the_readme_in_an_empty_environment(wheel: Path, tmp_path: Path) -> None:
    python = installed(sys.executable, tmp_path / "environment", wheel)
    (example,) = re.findall(r"^```python\n(.*?)^```", (ROOT / "README.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    (tmp_path / "example.py").write_text(example)
    ran = run(python, "example.py", cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert "clicks=4 city='Oslo'" in ran.stdout
    assert (tmp_path / "lake" / "catalog.db").exists()


@pytest.mark.slow
@pytest.mark.parametrize("version", OTHER_PYTHONS)
def test_every_verb_on_another_python(wheel: Path, tmp_path: Path, version: str) -> None:
    python = installed(interpreter(version), tmp_path / "environment", wheel, "pytest", "hypothesis")
    place = run(python, "-c", "import keylake; print(keylake.__file__)", cwd=tmp_path)
    assert place.stdout.startswith(str(tmp_path)), "the wheel is tested, not the clone"
    ran = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", EVERY_VERB, cwd=ROOT)
    assert ran.returncode == 0, ran.stdout


def interpreter(version: str) -> Path:
    """An interpreter of this version: one that is found by its name, or one that pyenv has."""
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    named = shutil.which(f"python{version}")
    for path in (*([Path(named)] if named else []), *sorted(pyenv.glob(f"{version}.*/bin/python"))):
        if run(path, "-c", "import venv", cwd=ROOT).returncode == 0:
            return path
    pytest.skip(f"python{version} is not on this machine: what the wheel does on it was not tested")
