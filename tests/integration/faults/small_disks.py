"""Disks of a few megabytes, which need no rights in a mount namespace of their own."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ALONE = ["unshare", "--map-root-user", "--mount"]


def run_alone(script: Path, *arguments: object) -> None:
    """Runs a script in a namespace of its own, where it may mount disks; it has to end well."""
    if shutil.which(ALONE[0]) is None or subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("it needs a mount namespace, and `unshare --map-root-user --mount` gives none here")
    command = [*ALONE, sys.executable, str(script), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def mount(*arguments: object) -> None:
    subprocess.run(["mount", *map(str, arguments)], check=True)


def mount_small(folder: Path, size: str) -> None:
    """A disk of a size, such as `32m`, in the place of a folder."""
    mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder)


def filled(folder: Path, room: int) -> Path:
    """A file that takes the rest of the disk, but for so many bytes."""
    filler = folder / "filler"
    filler.write_bytes(bytes(max(0, shutil.disk_usage(folder).free - room)))
    return filler
