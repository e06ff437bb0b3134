"""A proxy before a REST catalog that loses answers: a commit is taken, and the client is told something else."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha1
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

_NOT_PASSED_ON = ("transfer-encoding", "connection", "content-length", "date", "server", "host")


class LossyProxy(ThreadingHTTPServer):
    """Passes requests on; `lose` says what happens to the next change: `after_409`, `before_503`, `after_cut`."""

    daemon_threads = True

    def __init__(self, uri: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        place = urlsplit(uri)
        self.target = (str(place.hostname), int(place.port or 80))
        self.uri = f"http://127.0.0.1:{self.server_address[1]}"
        self.lose: str | None = None
        self.gives_tags = False  # with an answer, to say of a later one that the client has it already
        self.not_modified = 0  # so many answers a client had already

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is no news."""

    def fault_of(self, method: str, path: str, body: bytes) -> str | None:
        """What happens to a request: a commit, the new name of a table, or its end."""
        is_change = b'"updates"' in body or path.endswith("/tables/rename") or method == "DELETE"
        if self.lose is None or not is_change:
            return None
        fault, self.lose = self.lose, None
        return fault


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: LossyProxy

    def log_message(self, *_: object, **__: object) -> None:
        """Nothing is said."""

    def _passed(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        when, _, what = (self.server.fault_of(self.command, self.path, body) or "").partition("_")
        status, headers, answer = (0, [], b"") if when == "before" else self._forwarded(body)
        if what == "cut":
            self.close_connection = True
            self.connection.close()
            return
        if what:
            status, headers, answer = int(what), [], b'{"error": {"message": "lost", "type": "Lost", "code": 500}}'
        tag = f'"{sha1(answer).hexdigest()}"' if self.server.gives_tags and status == 200 else None
        if tag is not None and self.headers.get("If-None-Match") == tag:
            status, answer = 304, b""
            self.server.not_modified += 1
        self.send_response(status)
        if tag is not None:
            self.send_header("ETag", tag)
        for name, value in headers:
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _forwarded(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
        connection = HTTPConnection(*self.server.target, timeout=60)
        try:
            headers = {name: value for name, value in self.headers.items() if name.lower() not in _NOT_PASSED_ON}
            connection.request(self.command, self.path, body or None, headers)
            answer = connection.getresponse()
            return answer.status, answer.getheaders(), answer.read()
        finally:
            connection.close()

    do_GET = do_HEAD = do_POST = do_DELETE = _passed  # noqa: N815  # names of Python's server


@contextmanager
def lossy(uri: str) -> Iterator[LossyProxy]:
    """A proxy before a catalog, until the end of the block."""
    with LossyProxy(uri) as proxy:
        thread = threading.Thread(target=proxy.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield proxy
        finally:
            proxy.shutdown()
            thread.join()
