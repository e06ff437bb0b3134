"""Processes and threads that share a log: they append at once, are forked, are killed, and meet a disk that is full."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from keylake._log.segments import Segments
from unit.log_segments import append, read


@pytest.fixture
def segments(tmp_path: Path) -> Segments:
    return Segments.create(tmp_path / "log")


FILLING = """
import resource, signal, sys
from pathlib import Path
from keylake._log.segments import Segments
from keylake.errors import Unavailable
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
segments = Segments(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    while True:
        numbers = segments.append([b"x" * 90])
        segments.make_durable(numbers.stop)
        print(numbers.start)
except Unavailable as error:
    print(error, file=sys.stderr)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(segments.append([b"y"]).start)
"""


def test_a_disk_that_is_full_takes_nothing_and_goes_on_later(segments: Segments) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FILLING, str(segments.folder)], capture_output=True, text=True, check=True
    )
    numbers = list(map(int, done.stdout.split()))
    assert numbers == list(range(len(numbers)))
    assert "could not be written to: no space left on device. Nothing was appended" in done.stderr
    assert read(Segments(segments.folder)) == [*((number, b"x" * 90) for number in numbers[:-1]), (numbers[-1], b"y")]


def test_a_reader_who_may_not_write_reads_what_is_durable(segments: Segments) -> None:
    append(segments, b"a")
    segments.append([b"b"])  # nobody has been told of it
    for path in (*segments.folder.parents, segments.folder):
        with contextlib.suppress(PermissionError):
            path.chmod(path.stat().st_mode | 0o055)
    for path in segments.folder.iterdir():
        path.chmod(0o444)
    found = subprocess.run(
        [sys.executable, "-c", READER, str(segments.folder)], capture_output=True, text=True, check=False
    )
    assert found.stdout.split() == ["0"], found.stderr


READER = """
import os
import sys
from pathlib import Path
from keylake._log.cursor import Cursor
from keylake._log.segment_files import packed_number
from keylake._log.segments import Segments
if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print(*(frame.number for frame in Cursor(Segments(Path(sys.argv[1])), 0).new()))
"""


WRITER = """
import sys
from pathlib import Path
from keylake._log.segments import Segments
segments = Segments(Path(sys.argv[1]))
number = 0
while True:
    numbers = segments.append([f"{sys.argv[2]} {number}".encode()])
    segments.make_durable(numbers.stop)
    print(number, flush=True)
    number += 1
"""


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.slow), pytest.param(2, marks=pytest.mark.slow)])
def test_processes_that_are_killed_lose_nothing_that_was_acknowledged(
    segments: Segments, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    draw = random.Random(seed)
    acknowledged: dict[str, int] = {}
    for turn in range(3):
        names = [f"{turn}-{writer}" for writer in range(4)]
        running = {
            name: subprocess.Popen(
                [sys.executable, "-c", WRITER, str(segments.folder), name], stdout=subprocess.PIPE, text=True
            )
            for name in names
        }
        said: dict[str, list[str]] = {}

        def listen(name: str, process: subprocess.Popen[str], said: dict[str, list[str]] = said) -> None:
            assert process.stdout is not None
            with process.stdout:
                said[name] = list(process.stdout)

        threads = [threading.Thread(target=listen, args=each) for each in running.items()]
        for thread in threads:
            thread.start()
        time.sleep(1 + draw.random())
        for process in draw.sample(list(running.values()), len(running)):
            os.kill(process.pid, signal.SIGKILL)
            time.sleep(draw.random() / 50)
        for thread, process in zip(threads, running.values(), strict=True):
            thread.join()
            process.wait()
        acknowledged |= {name: len(lines) for name, lines in said.items()}
    found: dict[str, list[int]] = {}
    for at, (number, entry) in enumerate(read(Segments(segments.folder))):
        assert number == at
        name, _, count = entry.decode().partition(" ")
        found.setdefault(name, []).append(int(count))
    assert any(acknowledged.values())
    for name, count in acknowledged.items():
        numbers = found.get(name, [])
        assert numbers == list(range(len(numbers))), "each once, in the order of its writer"
        assert count <= len(numbers) <= count + 1, "and one more that was not acknowledged"


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_was_forked_locks_for_itself(segments: Segments) -> None:
    append(segments, b"parent")
    pid = os.fork()
    if pid == 0:
        try:
            for _ in range(200):
                append(segments, b"child")
        finally:
            os._exit(0)
    for _ in range(200):
        append(segments, b"parent")
    os.waitpid(pid, 0)
    entries = [entry for _, entry in read(Segments(segments.folder))]
    assert len(entries) == 401
    assert entries.count(b"child") == 200


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_a_thread_appends(segments: Segments) -> None:
    """The child has no thread that would let go of a lock."""
    done = threading.Event()
    thread = threading.Thread(target=lambda: [append(segments, b"thread") for _ in iter(done.is_set, True)])
    thread.start()
    try:
        for _ in range(10):
            pid = os.fork()
            if pid == 0:
                signal.alarm(20)
                append(segments, b"child")
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
    finally:
        done.set()
        thread.join()
    assert [entry for _, entry in read(segments)].count(b"child") == 10


def test_threads_share_a_log(segments: Segments) -> None:
    threads = [threading.Thread(target=lambda: [append(segments, b"x") for _ in range(100)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [number for number, _ in read(segments)] == list(range(800))
