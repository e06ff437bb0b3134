"""Processes that move a log are killed at any moment, others append and read meanwhile: each entry counts once."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from random import Random

import pytest

import keylake as kl
import keylake.local
from integration.log.logged_table import Both, shown
from integration.random_runs import seeds

MOVER = """
import os, sys
import keylake as kl
with kl.connect(sys.argv[1], catalog=sys.argv[2]) as lake:
    table = lake.table(sys.argv[3])
    print("ready", flush=True)
    while True:
        print(table.log.move().entries, flush=True)
"""


def mover(lake: kl.Lake, name: str) -> "subprocess.Popen[str]":
    assert lake._server is not None
    address, _, token = lake._server.url.partition(";token=")
    process = subprocess.Popen(
        [sys.executable, "-c", MOVER, address, lake.catalog, name],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "KEYLAKE_TOKEN": token},
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("seed", seeds(0, 7))
def test_movers_are_killed_and_nothing_is_lost_or_doubled(
    lake: kl.Lake, both: Both, warehouse: Path, seed: int
) -> None:
    draw, number = Random(seed), 0
    expected: dict[int, tuple[object, object]] = {}
    with keylake.local.open(warehouse) as other:
        reader = other.table(both.table.name)
        for _ in range(3):
            running = [mover(lake, both.table.name) for _ in range(2)]
            try:
                until = time.monotonic() + 0.5 + draw.random()
                while time.monotonic() < until:
                    key = draw.randrange(30)
                    both.here.log.update({"id": key, "a": number})
                    expected[key] = (number, None)
                    number += 1
                    if number % 7 == 0:
                        assert shown(reader, fresh=True) == expected
            finally:
                for process in running:
                    os.kill(process.pid, signal.SIGKILL)
                    assert process.stdout is not None
                    with process.stdout:
                        process.wait()
            assert shown(reader, fresh=True) == expected
    both.table.log.move()
    assert shown(both.table) == expected
    assert list(both.table.commits.offsets().values()) == [number]
    assert [entry.rows.to_pylist()[0]["a"] for entry in both.here.log.entries()] == list(range(number))
