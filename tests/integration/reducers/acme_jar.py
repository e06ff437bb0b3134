"""The reducers that a user might write in Java, compiled and packed."""

import shutil
import subprocess
from pathlib import Path

from keylake._server.server import find_jars

CODE = Path(__file__).with_name("Examples.java")


def acme_jar(folder: Path) -> Path:
    """The jar of these classes, made in a folder."""
    java = shutil.which("java")
    assert java is not None
    compiler = Path(java).resolve().with_name("javac")
    jars = ":".join(map(str, find_jars()))
    subprocess.run([compiler, "-cp", jars, "-d", str(folder / "classes"), str(CODE)], check=True)
    shutil.make_archive(str(folder / "acme"), "zip", folder / "classes")
    return (folder / "acme.zip").rename(folder / "acme.jar")
