"""The logical log of a server as it is sent: START_REPLICATION, and libpq's copies in both directions.

The alternative, polling by `pg_logical_slot_peek_binary_changes`, decodes the log again from the slot's restart point
with each call; a stream decodes it once.
"""

from __future__ import annotations

import select
import struct
import time
from typing import TYPE_CHECKING

import psycopg
from psycopg.pq import ExecStatus

from keylake._postgres.messages import EPOCH
from keylake._postgres.positions import place_text
from keylake._postgres.server import Server

if TYPE_CHECKING:
    from keylake._postgres.server import Connection

_HEAD_OF_DATA = 25  # a w, two places, and a time
_KEEPALIVE = struct.Struct(">qqB")
_STATUS = struct.Struct(">cqqqqB")


class LogStream:
    """Messages of a slot's log, from a place on. What was confirmed the server forgets."""

    def __init__(self, server: Server, slot: str, publication: str, start: int, confirmed: int) -> None:
        self._server = server
        self._confirmed = confirmed
        self._connection: Connection = server.replication()
        self.sent = start  # by the server, as far as it has told
        options = f"(proto_version '1', publication_names '{_quoted(publication)}')"
        command = f'START_REPLICATION SLOT "{slot}" LOGICAL {place_text(start)} {options}'
        result = self._connection.pgconn.exec_(command.encode())
        if result.status != ExecStatus.COPY_BOTH:
            said = result.error_message.decode(errors="replace")
            self._connection.close()
            raise psycopg.OperationalError(said)
        self._ahead: bytes | None = None
        self._ready = select.poll()
        self._ready.register(self._connection.pgconn.socket, select.POLLIN)

    def received(self, seconds: float) -> bytes | None:
        """The next message of pgoutput, None if there is none for so long."""
        ahead, self._ahead = self._ahead, None
        return ahead or self._next(seconds)

    def ahead(self) -> bytes | None:
        """The message that `received` gives next, if it is there."""
        self._ahead = self._ahead or self._next(0)
        return self._ahead

    def _next(self, seconds: float) -> bytes | None:
        until = time.monotonic() + seconds
        libpq = self._connection.pgconn
        while True:
            size, data = libpq.get_copy_data(1)
            if size < 0:
                raise psycopg.OperationalError("the server has ended the stream")
            if size == 0:
                left = max(until - time.monotonic(), 0)
                if not self._ready.poll(left * 1000):
                    return None
                libpq.consume_input()
            elif data[0] == ord("w"):
                return bytes(data[_HEAD_OF_DATA:])
            else:
                sent, _, wants_answer = _KEEPALIVE.unpack_from(data, 1)
                self.sent = max(self.sent, sent)
                if wants_answer:
                    self._received()

    def confirm(self, place: int) -> None:
        """Let the server forget what lies before a place."""
        self._confirmed = max(self._confirmed, place)
        self.tell()

    def tell(self, *, ask: bool = False) -> None:
        """Tell the server what is confirmed; it answers with how far it has sent, if asked."""
        self._tell(self._confirmed, self._confirmed, ask=ask)

    def _tell(self, received: int, confirmed: int, *, ask: bool = False) -> None:
        now = int((time.time() - EPOCH.timestamp()) * 1_000_000)
        self._connection.pgconn.put_copy_data(_STATUS.pack(b"r", received, confirmed, confirmed, now, ask))
        self._connection.pgconn.flush()

    def _received(self) -> None:
        """Tell the server what has come, not what it may forget: a server that stops waits for one of these."""
        self._tell(received=self.sent, confirmed=0)

    def close(self) -> None:
        """End the stream."""
        self._connection.close()


def _quoted(name: str) -> str:
    """A name in a list of publications inside of a literal."""
    return ('"' + name.replace('"', '""') + '"').replace("'", "''")
