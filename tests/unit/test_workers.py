"""The processes in which reducers in Python run: one that Spark needs no more ends."""

import os
import socket
import struct
import subprocess
import sys
import time

SECRET = b"a secret of this test"


def test_a_worker_whose_connection_is_closed_ends() -> None:
    environment = os.environ | {"PYTHON_WORKER_FACTORY_SECRET": SECRET.decode(), "SPARK_REUSE_WORKER": "1"}
    command = [sys.executable, "-m", "keylake.reducers.worker", "keylake.reducers.worker"]
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as daemon:
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        (port,) = struct.unpack(">i", daemon.stdout.read(4))
        with socket.create_connection(("localhost", port)) as connection:
            (worker,) = struct.unpack(">i", connection.recv(4))
            connection.sendall(struct.pack(">i", len(SECRET)) + SECRET)
            assert connection.recv(6)[4:] == b"ok"
        assert _ends(worker)
        daemon.stdin.close()  # which ends the daemon, too


def _ends(process: int) -> bool:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.05)
    return False
