"""A service: HTTP with look-ups by `keylake.local` in this process and writes over Spark Connect.

GET /users/7 gives the newest row: a look-up sees all that is committed. POST /events checks a list of events by the
class of the table and writes it in one commit, once however often it is sent. A client in this file tries both.
"""

import json
from collections.abc import Callable
from datetime import datetime
from http.client import HTTPConnection
from threading import Thread
from time import perf_counter
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server

from pydantic import TypeAdapter, ValidationError

import keylake as kl
import keylake.local


class User(kl.Table, name="service.users", buckets=4):
    """What the service knows of a user."""

    user_id: kl.Int64 = kl.key()
    at: datetime = kl.ordering()
    city: str | None = kl.column(reduce=kl.LatestNotNull())
    clicks: kl.Int64 | None = kl.column(reduce=kl.Sum())


class Quiet(WSGIRequestHandler):
    """Writes no line for each request."""

    def log_message(self, *_: object) -> None: ...


def service(request: dict[str, Any], respond: Callable[[str, list[tuple[str, str]]], object]) -> list[bytes]:
    """The two routes, for any WSGI server."""
    if request["REQUEST_METHOD"] == "GET":
        user = look_ups.get(user_id=int(request["PATH_INFO"].removeprefix("/users/")))
        status, answer = ("200 OK", user.model_dump_json()) if user else ("404 Not Found", "null")
    else:
        try:
            events = TypeAdapter(list[User]).validate_json(request["wsgi.input"].read(int(request["CONTENT_LENGTH"])))
            commit = users.upsert(events, idempotency_key=request.get("HTTP_IDEMPOTENCY_KEY"))
            status, answer = "201 Created", json.dumps({"commit": commit.snapshot_id, "repeated": commit.repeated})
        except ValidationError as error:
            status, answer = "400 Bad Request", error.json(include_url=False)
    respond(status, [("Content-Type", "application/json")])
    return [answer.encode()]


def ask(method: str, path: str, body: object = None, **headers: str) -> str:
    """A request of the client, and the answer as text."""
    client.request(method, path, None if body is None else json.dumps(body), headers)
    response = client.getresponse()
    return f"{method} {path} {response.status} {response.read().decode()}"


with kl.connect() as lake, keylake.local.open("./lake") as local:
    lake.spark.sql("DROP TABLE IF EXISTS service.users PURGE")  # an earlier run's
    users, look_ups = lake.create(User), local.table(User)
    with make_server("127.0.0.1", 0, service, handler_class=Quiet) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        client = HTTPConnection("127.0.0.1", server.server_port)
        event = {"user_id": 7, "at": "2026-11-01T12:00:00Z", "city": "Oslo", "clicks": 3}
        print(ask("GET", "/users/7"))
        for _ in range(2):  # the second time nothing is written
            print(ask("POST", "/events", [event, {**event, "user_id": 8}], **{"Idempotency-Key": "batch 1"}))
        print(ask("POST", "/events", [{**event, "at": "2026-11-01T11:00:00Z", "city": "Bergen"}]))  # an hour older
        print(ask("GET", "/users/7"))
        print(ask("POST", "/events", [{**event, "clicks": "many"}]))
        begin = perf_counter()
        for _ in range(200):
            ask("GET", "/users/7")
        print(f"a look-up takes {1000 * (perf_counter() - begin) / 200:.1f} ms, the mean of 200")
        server.shutdown()
