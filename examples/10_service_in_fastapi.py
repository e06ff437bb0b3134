"""The same in FastAPI: two workers that each read and write the lake in their own process, without Spark and a JVM.

The class of the table is the body of a request and the answer. GET /people/{id}?max_age=5 gives one that is up to 5
seconds old, so the catalog is asked once in 5 seconds. A client in this file tries the service.
"""

import json
import socket
from datetime import datetime, timedelta
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from time import perf_counter
from typing import Literal
from uuid import UUID

import uvicorn
from fastapi import FastAPI, HTTPException
from uvicorn.supervisors import Multiprocess

import keylake as kl
import keylake.local


class Person(kl.Table, name="service.people", buckets=4):
    """What the service knows of a person."""

    person_id: UUID = kl.key()
    at: datetime = kl.ordering()
    plan: Literal["free", "paid"] | None = kl.column(reduce=kl.LatestNotNull())
    picture: bytes | None = kl.column()


people = keylake.local.create(Person, "./lake", if_exists="match")  # each worker opens it
app = FastAPI()


@app.get("/people/{person_id}")
async def person(person_id: UUID, max_age: float = 0) -> Person:
    """The newest row of a person, or one of that age in seconds."""
    found = await people.aget(person_id=person_id, max_age=timedelta(seconds=max_age))
    if found is None:
        raise HTTPException(404)
    return found


@app.post("/people", status_code=201)
async def write(rows: list[Person]) -> int:
    """Writes rows in one commit, and says how many."""
    return (await people.aupsert(rows, stream="service")).rows


def client(connection: HTTPConnection) -> None:
    """Tries both routes."""

    def ask(method: str, path: str, body: object = None) -> str:
        connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
        return f"{method} {(response := connection.getresponse()).status} {response.read().decode()}"

    url, eva = f"/people/{UUID(int=7)}", {"person_id": str(UUID(int=7)), "plan": "paid", "picture": "iVBORw=="}
    print(ask("POST", "/people", [{**eva, "at": "2026-11-01T12:00:00Z"}]))
    print(ask("POST", "/people", [{**eva, "at": "2026-11-01T11:00:00Z", "plan": "free"}]))  # an hour older
    print(ask("GET", url))
    print(ask("POST", "/people", [{**eva, "at": "2026-11-01T13:00:00Z", "plan": "gold"}]))
    begin = perf_counter()
    for _ in range(200):
        ask("GET", f"{url}?max_age=5")
    print(f"a request takes {1000 * (perf_counter() - begin) / 200:.1f} ms, the mean of 200")


if __name__ == "__main__":
    with socket.socket(proto=socket.IPPROTO_TCP) as listening:  # with the protocol said, answers are sent at once
        listening.bind(("127.0.0.1", 0))
        listening.listen()  # requests wait until the workers are there
        workers = Multiprocess(
            uvicorn.Config(f"{Path(__file__).stem}:app", workers=2, log_level="warning"), [listening]
        )
        (tried := Thread(target=client, args=(HTTPConnection(*listening.getsockname()),))).start()
        Thread(target=lambda: (tried.join(), workers.should_exit.set())).start()
        workers.run()
