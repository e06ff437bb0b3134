"""What another user of the machine gets from an embedded server: nothing, on no port, from no file."""

import os
import re
import socket
import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql.functions import udf

import keylake as kl
import keylake.local
from keylake._server.session import Session

NOBODY = 65534
MODULES = "from pyspark.sql.connect.proto import base_pb2, base_pb2_grpc"
LOOPBACK = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
RPC_REQUEST, RPC_RESPONSE, RPC_FAILURE = 3, 4, 5


def as_stranger(program: str, *arguments: object) -> str:
    """What a program prints that another user runs; it has its modules by then, wherever this checkout lies."""
    become = f"os.setgroups([]); os.setgid({NOBODY}); os.setuid({NOBODY})" if os.getuid() == 0 else ""
    if not become:
        print("Run as root to have another user try; this user tries without any secret.")
    text = f"import encodings.idna, grpc, os, socket, struct, sys\n{MODULES}\n{become}\n{textwrap.dedent(program)}"
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("SPARK", "PYSPARK", "PYTEST"))}
    ran = subprocess.run(
        [sys.executable, "-c", text, *map(str, arguments)], env=kept, capture_output=True, text=True, timeout=120
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def processes_of(server: int) -> set[int]:
    """A process and all that it started."""
    parents = {}
    for status in Path("/proc").glob("[0-9]*/status"):
        try:
            parents[int(status.parent.name)] = int(re.findall(r"^PPid:\s*(\d+)", status.read_text(), re.MULTILINE)[0])
        except (OSError, IndexError):
            continue  # it has ended meanwhile
    found = {server}
    while more := {process for process, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def listening(processes: set[int]) -> Iterator[tuple[str, int]]:
    """Address, as the kernel writes it, and port of every TCP socket on which these processes listen."""
    sockets = set()
    for process in processes:
        for file in Path(f"/proc/{process}/fd").iterdir():
            try:
                sockets.add(str(file.readlink()))
            except OSError:
                continue  # closed meanwhile
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                address, _, port = fields[1].partition(":")
                yield address, int(port, 16)


@pytest.fixture
def server(lake: kl.Lake) -> int:
    """The process of a server that has done something, also in Python."""
    assert lake.spark.range(10).select(udf(lambda n: n + 1, "long")("id")).count() == 10
    assert lake.spark.range(1).select(udf(lambda n: n + 1, "long")("id")).collect()[0][0] == 1
    assert lake._server is not None
    return lake._server._process.pid


def test_all_ports_are_on_the_loopback_interface(server: int) -> None:
    found = set(listening(processes_of(server)))
    assert len(found) >= 3  # Connect, RPC, blocks; a Python worker may have another
    assert {address for address, _ in found} <= LOOPBACK


def test_no_port_serves_who_has_no_secret(lake: kl.Lake, server: int) -> None:
    """An RPC request as Spark's processes send it, with a Java object in it, is answered by none of them."""
    assert lake._server is not None
    of_clients = {lake._server.port, lake._server.catalog_port}
    of_java = {port for _, port in listening({server})} - of_clients
    of_python = {port for _, port in listening(processes_of(server))} - of_java - of_clients
    assert len(of_java) >= 2
    program = """
        def text(said):
            return struct.pack(">H", len(said)) + said

        for port in map(int, sys.argv[1:]):
            address = b"\\0\\1" + text(b"127.0.0.1") + struct.pack(">i", port) + text(b"endpoint-verifier")
            body = address + b"\\xac\\xed\\0\\5t" + text(b"a Java object")
            message = struct.pack(">bqi", 3, 1, len(body)) + body
            with socket.create_connection(("127.0.0.1", port), 10) as connection:
                connection.settimeout(10)
                connection.sendall(struct.pack(">q", 8 + len(message)) + message)
                answer = connection.recv(1 << 16)
                connection.shutdown(socket.SHUT_WR)
                answer += b"".join(iter(lambda: connection.recv(1 << 16), b""))
            print(port, answer.hex(), sep=":")
    """
    answers = dict(line.split(":") for line in as_stranger(program, *of_java, *of_python).splitlines())
    for port in of_java:
        answer = bytes.fromhex(answers[str(port)])
        assert answer[8] == RPC_FAILURE, answer
        assert b"Expected SaslMessage" in answer
    for port in of_python:
        assert bytes.fromhex(answers[str(port)])[4:] == b"\0\0\0\3err"  # behind the number of a process that ends


def test_a_client_needs_the_token(lake: kl.Lake, server: int) -> None:
    assert lake._server is not None
    program = """
        request = base_pb2.ConfigRequest(session_id="00000000-0000-4000-8000-000000000000")
        request.operation.get_all.SetInParent()
        channel = grpc.insecure_channel(f"127.0.0.1:{sys.argv[1]}")
        for metadata in ((), (("authorization", "Bearer guessed"),)):
            try:
                base_pb2_grpc.SparkConnectServiceStub(channel).Config(request, metadata=metadata, timeout=30)
                print("answered")
            except grpc.RpcError as error:
                print(error.code().name)
    """
    assert as_stranger(program, lake._server.port).split() == ["UNAUTHENTICATED", "UNAUTHENTICATED"]


def test_secrets_are_in_no_place_that_others_can_read(lake: kl.Lake, server: int) -> None:
    assert lake._server is not None
    token = lake._server.url.partition("token=")[2]
    for process in processes_of(server):
        assert token not in Path(f"/proc/{process}/cmdline").read_text()
        assert Path(f"/proc/{process}/environ").stat().st_mode & 0o077 == 0
    assert token not in lake._server.log.read_text()
    assert lake._server.log.stat().st_mode & 0o077 == 0
    assert lake._server.scratch.stat().st_mode & 0o077 == 0
    assert (lake._server.scratch / "server.properties").stat().st_mode & 0o077 == 0
    secret = lake.spark.sql("SET -v").where("key LIKE '%secret%' OR key LIKE '%token%'").collect()
    assert not [row for row in secret if token in row.value]
    if os.getuid() == 0:
        program = """
            for name in sys.argv[1:]:
                try:
                    print(name, open(name, "rb").read())
                except PermissionError:
                    pass
        """
        private = [lake._server.log, lake._server.scratch / "server.properties", f"/proc/{server}/environ"]
        assert as_stranger(program, *private) == ""


@pytest.mark.slow
def test_files_have_the_permissions_of_their_user(tmp_path: Path) -> None:
    """Those of the server, too: a lake in a folder that others may open is closed by the umask."""
    folder = tmp_path / "lake"
    folder.mkdir(mode=0o755)
    before = os.umask(0o077)
    try:
        schema = pa.schema([pa.field("k", pa.int64(), nullable=False), ("a", pa.int64())])
        with kl.connect(warehouse=folder) as lake:
            table = lake.create(kl.TableSpec.from_arrow(schema, name="own.table", key="k", buckets=2))
            table.upsert([{"k": key, "a": key} for key in range(10)])
            table.upsert([{"k": key, "a": key} for key in range(6000)])
            table.compact("full")
            table.serving.publish_kv(folder / "kv")
            with keylake.local.open(folder) as here:
                here.table("own.table").update([{"k": 1, "a": 2}])
    finally:
        os.umask(before)
    made = [each for each in folder.rglob("*") if not each.is_symlink()]
    assert len(made) > 40
    assert not [each for each in made if each.stat().st_mode & 0o077]


def test_a_client_goes_to_its_own_server_only(lake: kl.Lake) -> None:
    """Another user may listen on the same port of [::1], which `localhost` means as well."""
    assert lake._server is not None
    if not Path("/proc/net/if_inet6").exists():
        return  # then there is no other address to listen on
    came = threading.Event()
    with closing(socket.create_server(("::1", lake._server.port), family=socket.AF_INET6)) as stranger:

        def accept() -> None:
            try:
                stranger.accept()[0].close()
            except OSError:
                return
            came.set()

        listener = threading.Thread(target=accept, daemon=True)
        listener.start()
        session = Session(lake._server.url, "lake", server=lake._server)
        session.close()
        stranger.shutdown(socket.SHUT_RDWR)
    listener.join(10)
    assert not came.is_set()
