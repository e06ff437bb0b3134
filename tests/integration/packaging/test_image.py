"""The steps of the image that `keylake server-conf --print dockerfile` describes, done in an empty folder."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from keylake.cli.deployment import IMAGE_FOLDER, Deployment

ROOT = Path(__file__).parents[3]


def run(command: str, cwd: Path) -> None:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(["sh", "-ec", command], cwd=cwd, env=kept, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr + done.stdout


@pytest.mark.slow
def test_the_steps_of_the_image_give_the_jars_of_the_settings(tmp_path: Path) -> None:
    """What a path of the image is there, is a folder of the test here; the base images themselves are not run."""
    settings = Deployment({}, "s3")
    run(f"{sys.executable} -m venv environment && mkdir -p tmp/dist opt", tmp_path)
    wheel = f"{sys.executable} -m pip wheel --quiet --no-deps --no-build-isolation --wheel-dir {tmp_path}/tmp/dist"
    run(f"{wheel} {ROOT}/server_plugins", tmp_path)
    steps = re.findall(r"^(RUN|COPY --from=store \S+) ((?:.*\\\n)*.*)$", settings.dockerfile(), flags=re.MULTILINE)
    assert [kind.split()[0] for kind, _ in steps] == ["RUN", "RUN", "RUN", "COPY"]
    maven = f"{ROOT}/server_plugins/mvnw --file {ROOT}/server_plugins/pom.xml --non-recursive"
    for kind, step in steps:
        here = re.sub(r"(?<![\w.])/(tmp|opt)/", rf"{tmp_path}/\1/", step)
        here = here.replace("python3", f"{tmp_path}/environment/bin/python").replace("mvn --batch-mode", maven)
        run(here if kind == "RUN" else f"cp {here}", tmp_path)
    jars = {path.name for path in (tmp_path / IMAGE_FOLDER.lstrip("/")).glob("*.jar")}
    ours = {path.name for path in (ROOT / "sdk/keylake/jars").glob("*.jar")}
    assert jars == ours | {"iceberg-aws-bundle-1.12.0.jar"}
    assert not list(tmp_path.glob("tmp/wheel*"))
