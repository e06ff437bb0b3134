"""A database in which statements on tables happen among random changes of rows."""

import random
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager

import pytest

BEHAVIOURS = ("evolve", "lenient", "exception")
NIGHTLY = [pytest.param(run, how, 1, marks=pytest.mark.nightly) for run in (1, 2) for how in BEHAVIOURS]
of_every_behaviour = pytest.mark.parametrize(("run", "behaviour", "every"), [(0, "evolve", 4), *NIGHTLY])


def listed(text: str) -> tuple[str, ...]:
    """Statements, one on a line; what is indented goes on with the line before."""
    return tuple(text.strip().replace("\n    ", " ").split("\n"))


class Load(threading.Thread):
    """Random changes of rows in all tables, and the statement of each among them.

    A session runs statements, and passes over what the server refuses: a log could not tell of it. `insert` is a
    statement with {table}, {id} and {p} that passes over a key that is there.
    """

    def __init__(
        self,
        session: Callable[[], AbstractContextManager[Callable[[str], None]]],
        insert: str,
        statements: Mapping[str, str],
        seed: str,
    ) -> None:
        super().__init__()
        self._session, self._insert = session, insert
        self._statements, self._random = statements, random.Random(seed)
        self._failed: BaseException | None = None

    def run(self) -> None:
        try:
            waiting = list(self._statements.items())
            self._random.shuffle(waiting)
            for table, statement in waiting:
                with self._session() as do:  # of its own: a statement may change settings
                    for _ in range(3):
                        self._change_rows(do, self._random.choice(list(self._statements)))
                    self._change_rows(do, table)
                    for each in statement.format(t=table).split("; "):
                        do(each)
                    self._change_rows(do, table)
                time.sleep(self._random.choice([0, 0, 0.1]))
            with self._session() as do:
                for table in self._statements:
                    self._change_rows(do, table)
        except BaseException as error:  # noqa: BLE001 - the test's own thread raises it
            self._failed = error

    def end(self) -> None:
        """Wait for its end; raises what it failed with."""
        self.join()
        if self._failed is not None:
            raise self._failed

    def _change_rows(self, do: Callable[[str], None], table: str) -> None:
        number, other = self._random.randint(1, 60), self._random.randint(0, 19)
        kind = self._random.randint(0, 4)
        do(
            (
                self._insert.format(table=table, id=number + 100, p=other),
                f"UPDATE {table} SET b = {number} WHERE p = {other}",
                f"DELETE FROM {table} WHERE id = {number}",
                f"UPDATE {table} SET text = REPEAT('z', 3000), e = 'sad' WHERE id BETWEEN {number} AND {number + 3}",
                f"UPDATE {table} SET id = id + 500 WHERE id = {number}",
            )[kind]
        )
