"""What `make lint` says of the message of the last commit."""

import os
import subprocess
from pathlib import Path

import pytest

CHECK = Path(__file__).parents[2] / ".ci" / "message"
BODY = "It was one thing, and is another, since somebody asked."


def checked(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The check, in a repository whose last commit has that message."""
    names = {f"GIT_{who}_{what}": "x@x.example" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    git = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"} | names
    if words:
        subprocess.run(["git", "init", "--quiet"], cwd=folder, env=git, check=True)
        commit = ["git", "commit", "--quiet", "--allow-empty", "--cleanup=verbatim", "--message", "\n".join(words)]
        subprocess.run(commit, cwd=folder, env=git, check=True)
    return subprocess.run([CHECK], cwd=folder, env=git, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("subject", ["tables: a thing", "spark, sdk: a thing", f"docs: {'x' * 66}"])
def test_a_good_message_of_a_commit_passes(tmp_path: Path, subject: str) -> None:
    assert checked(tmp_path, subject, "", BODY).returncode == 0


@pytest.mark.parametrize(
    ("message", "says"),
    [
        ((f"docs: {'x' * 67}", "", BODY), "73 characters, more than 72"),
        (("A thing", "", BODY), "does not begin with its room"),
        (("docs: a thing", BODY), "no empty line"),
        (("docs: a thing",), "no body"),
        (("docs: a thing", "", " "), "no body"),
    ],
)
def test_a_bad_message_of_a_commit_is_refused(tmp_path: Path, message: tuple[str, ...], says: str) -> None:
    found = checked(tmp_path, *message)
    assert found.returncode == 1
    assert says in found.stderr
    assert message[0] in found.stderr


def test_a_folder_without_commits_passes(tmp_path: Path) -> None:
    assert checked(tmp_path).returncode == 0
