"""A proxy before a database that cuts connections: a change was made, and its client does not hear of it."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_CHANGES = (b"INSERT INTO iceberg_tables", b"UPDATE iceberg_tables", b"DELETE FROM iceberg_tables")


class LossyDatabase:
    """Passes on what clients and the database say.

    `lose` says what happens to the next change of a table: with `before_cut` it never arrives, with `after_cut` its
    answer does not.
    """

    def __init__(self, port: int) -> None:
        self.lose: str | None = None
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            connection = _Connection(self, client, socket.create_connection(("127.0.0.1", self._target)))
            threading.Thread(target=connection.serve, daemon=True).start()

    def fault_of(self, said: bytes) -> str | None:
        if self.lose is None or not any(each in said for each in _CHANGES):
            return None
        fault, self.lose = self.lose, None
        return fault


class _Connection:
    def __init__(self, proxy: LossyDatabase, client: socket.socket, server: socket.socket) -> None:
        self._proxy, self._client, self._server = proxy, client, server
        self._is_cut = False
        self._is_transaction = False  # else each statement is one
        self._cuts_at_commit = False

    def serve(self) -> None:
        answers = threading.Thread(target=self._until_closed, args=(self._answers,), daemon=True)
        answers.start()
        self._until_closed(self._questions)
        answers.join()
        self._client.close()
        self._server.close()

    def _until_closed(self, passing: Callable[[], None]) -> None:
        with contextlib.suppress(OSError):
            passing()
        for each in (self._client, self._server):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _questions(self) -> None:
        while said := self._client.recv(65536):
            self._is_transaction |= b"BEGIN" in said
            fault = self._proxy.fault_of(said)
            if fault == "before_cut":
                return
            self._cuts_at_commit |= fault is not None and self._is_transaction
            self._is_cut |= (fault is not None and not self._is_transaction) or (
                self._cuts_at_commit and b"COMMIT" in said
            )
            self._server.sendall(said)

    def _answers(self) -> None:
        while said := self._server.recv(65536):
            if self._is_cut:  # what is answered is done
                return
            self._client.sendall(said)


@contextmanager
def lossy_database(port: int) -> Iterator[LossyDatabase]:
    """A proxy before a database, until the end of the block."""
    proxy = LossyDatabase(port)
    try:
        yield proxy
    finally:
        proxy.close()
