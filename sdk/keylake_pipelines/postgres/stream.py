"""The logical log of a server as it is sent: START_REPLICATION, and libpq's copies in both directions.

The alternative, polling by `pg_logical_slot_peek_binary_changes`, decodes the log again from the slot's restart point
with each call; a stream decodes it once.
"""

from __future__ import annotations

import select
import struct
import time
from collections import deque
from typing import TYPE_CHECKING

import psycopg
from psycopg.pq import ExecStatus

from keylake_pipelines.postgres.messages import EPOCH
from keylake_pipelines.postgres.positions import place_text
from keylake_pipelines.postgres.server import Server

if TYPE_CHECKING:
    from keylake_pipelines.postgres.server import Connection

# The server sends each message for itself: waiting a moment for more of them costs less than to receive one by one.
_SECONDS_TO_GATHER = 0.001
_DATA = ord("w")
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
        self.messages = deque[bytes]()  # of pgoutput, that have come and were not taken from here
        self._ready = select.poll()
        self._ready.register(self._connection.pgconn.socket, select.POLLIN)

    def has_more(self, seconds: float) -> bool:
        """Messages are there, or come within so many seconds."""
        until = time.monotonic() + seconds
        while not self.messages:
            self._read()
            if not self.messages:
                if not self._ready.poll(0):
                    if not self._ready.poll(max(until - time.monotonic(), 0) * 1000):
                        return False
                    time.sleep(_SECONDS_TO_GATHER)
                self._connection.pgconn.consume_input()
        return True

    def _read(self) -> None:
        """Takes what libpq has got; no more than its buffer holds, which is filled between two calls."""
        get, messages = self._connection.pgconn.get_copy_data, self.messages
        while True:
            size, data = get(1)
            if size == 0:
                return
            if size < 0:
                if messages:  # the end comes again
                    return
                raise psycopg.OperationalError("the server has ended the stream")
            if data[0] == _DATA:
                messages.append(bytes(data[_HEAD_OF_DATA:]))
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
